"""Catalogs: for each installed skill type, every fact that a rule set can ask of its records.

A formula belongs to a type when the record schema of the type has all facts that it reads. What
rule sets require of records belongs to it in the same way; what the type itself requires, always.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType

import attrs
import msgspec

from tallystick.canonical import digest
from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import arguments_of, domain_of, is_opaque
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node, leaves
from tallystick.plugins.registry import Registry
from tallystick.plugins.skill_type import SkillType
from tallystick.records.extraction import FAILURES
from tallystick.records.schema import load_schema, schema_digest
from tallystick.scoring.binding import narrow
from tallystick.scoring.bound import BoundRequirement, Selection

READERS = 1
"""The version of what the readers of facts give; a change makes facts files of before useless."""


class TypeMetadata(msgspec.Struct, frozen=True):
    """The metadata of the facts of one skill type.

    Attributes:
        schema: the digest of its record schema.
        definitions: that of the definitions of its facts.
        requirements: those of the conditions that the type itself requires, by name.
        facts: those of its facts, sorted.
    """

    schema: str
    definitions: str
    requirements: dict[str, str]
    facts: list[str]


@attrs.frozen(eq=False, slots=False)
class FactCatalog(Selection):
    """Every fact that any rule set can take of the records of one skill type, by their digests.

    The requirements are those of the type itself, and opaque facts may fail of which it requires
    nothing.
    """

    @cached_property
    def by_digest(self) -> Mapping[str, Node]:
        """The facts by their digests."""
        return {fact.digest: fact for fact in self.facts}

    def only(self, wanted: Collection[str]) -> Selection:
        """Return the selection of some facts.

        Args:
            wanted: the digests; what the type itself requires is taken beside them.
        """
        selected = {*wanted, *_digests(own.condition for own in self.required)}
        facts = tuple(fact for fact in self.facts if fact.digest in selected)
        domains = {fact.digest: self.domains[fact.digest] for fact in facts}
        requirements = tuple(BoundRequirement.of(own, domains) for own in self.required)
        return Selection(
            self.name, self.schema, facts, domains, requirements, may_fail=self.may_fail
        )

    @cached_property
    def metadata(self) -> TypeMetadata:
        """The definitions of the facts, as a facts file has them."""
        facts, conditions = sorted(self.by_digest), {r.name: r.digest for r in self.required}
        definitions = definitions_digest(facts, conditions)
        return TypeMetadata(schema_digest(self.schema), definitions, conditions, facts)


def definitions_digest(facts: Iterable[str], required: Mapping[str, str]) -> str:
    """Return the digest of the definitions of the facts of one type.

    Args:
        facts: the digests of the facts, in any order.
        required: the digests of the requirements of the type itself, by name.
    """
    return digest({"readers": READERS, "facts": sorted(facts), "requirements": dict(required)})


@lru_cache(maxsize=2)
def catalog_of(registry: Registry) -> Mapping[str, FactCatalog]:
    """Return the catalog of every skill type that is installed, by name, in name order.

    Raises:
        SchemaError: the record schema of a type cannot be read.
        FormulaError: a type requires what its records do not have.
    """
    types = sorted(registry.skill_types.items())
    return MappingProxyType({name: _catalog(skill_type, registry) for name, skill_type in types})


def _catalog(skill_type: SkillType, registry: Registry) -> FactCatalog:
    schema = load_schema(skill_type.schema)
    result: dict[str, tuple[Node, Domain]] = {}
    for requirement in skill_type.requirements:
        try:
            result |= _taken((requirement.condition,), schema)
        except FormulaError as error:
            raise FormulaError(f"{skill_type.name}: {requirement.name}: {error}") from error
    for trees in _readable(registry):
        try:
            result |= _taken(trees, schema)
        except FormulaError:
            continue  # it is of other types
    ordered = dict(sorted(result.items()))
    domains = {name: domain for name, (_, domain) in ordered.items()}
    opaque = frozenset(name for name, (fact, _) in ordered.items() if is_opaque(fact))
    return FactCatalog(
        skill_type.name,
        schema,
        facts=tuple(fact for fact, _ in ordered.values()),
        domains=domains,
        requirements=tuple(BoundRequirement.of(own, domains) for own in skill_type.requirements),
        may_fail=opaque - _digests(own.condition for own in skill_type.requirements),
    )


def _readable(registry: Registry) -> Iterator[tuple[Node, ...]]:
    """Yield the trees of everything that is installed and reads facts."""
    for formula in registry.formulas.values():
        yield (formula.tree,) if formula.applies is None else (formula.tree, formula.applies)
    for requirement in registry.requirements.values():
        yield (requirement.condition,)


def _taken(trees: Iterable[Node], schema: Schema) -> dict[str, tuple[Node, Domain]]:
    """Return the facts of some trees with their ranges; FormulaError if the schema lacks one."""
    return {
        fact.digest: (fact, _distinct(fact, narrow(fact, domain_of(fact, schema))))
        for tree in trees
        for fact in _facts(tree)
    }


def _distinct(fact: Node, domain: Domain) -> Domain:
    """Return the range of a fact, apart from what stands for one that fails."""
    if is_opaque(fact) and domain.low <= max(FAILURES):
        low = arguments_of(fact)[1]
        raise FormulaError(f"found an opaque fact from {low}, expected more than {max(FAILURES)}")
    return domain


def _digests(trees: Iterable[Node]) -> set[str]:
    return {fact.digest for tree in trees for fact in _facts(tree)}


def _facts(tree: Node) -> Iterable[Node]:
    return leaves(tree, "fact")
