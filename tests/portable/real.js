"use strict";
// Exact real numbers, as docs/numbers.md says: fractions { n, d }, and what roots, powers, exp and log
// make of them. A real knows enclosures of its value by whole numbers, and a form in which zero is decided.

const { createHash } = require("node:crypto");

const MOST_BITS = 8192;
const FORM_BITS = 128;
const GUARD = 16;
const MOST_TO_EXP = 40n;

class Undecided extends Error {}
class NoForm extends Error {}

// ------------------------------------------------------------------------------- whole numbers
const abs = (n) => (n < 0n ? -n : n);
const gcd = (a, b) => (b === 0n ? abs(a) : gcd(b, a % b));
const lcm = (a, b) => (a / gcd(a, b)) * b;
const least = (...all) => all.reduce((x, y) => (y < x ? y : x));
const most = (...all) => all.reduce((x, y) => (y > x ? y : x));
const below = (n, d) => (n % d !== 0n && n < 0n !== d < 0n ? n / d - 1n : n / d);
const above = (n, d) => -below(-n, d);
const length = (n) => (n === 0n ? 0 : abs(n).toString(2).length);
const shifted = (n, bits) => (bits >= 0 ? n << BigInt(bits) : n >> BigInt(-bits));

// The largest whole number whose power of that degree is at most n.
function wholeRoot(n, degree) {
  if (degree === 1n || n < 2n) return n;
  const step = (x) => ((degree - 1n) * x + n / x ** (degree - 1n)) / degree;
  const half = Math.floor(length(n) / Number(degree) / 2);
  let root = half < 16 ? 1n << BigInt(2 * half + 3) : (wholeRoot(shifted(n, -half * Number(degree)), degree) + 1n) << BigInt(half);
  for (let next = step(root); next < root; next = step(root)) root = next;
  return root;
}

// ----------------------------------------------------------------------------------- fractions
function fraction(n, d = 1n) {
  const shared = (d < 0n ? -1n : 1n) * gcd(n, d);
  return { n: n / shared, d: d / shared };
}

const ZERO = fraction(0n);
const ONE = fraction(1n);
const plus = (x, y) => fraction(x.n * y.d + y.n * x.d, x.d * y.d);
const times = (x, y) => fraction(x.n * y.n, x.d * y.d);
const negative = (x) => fraction(-x.n, x.d);
const over = (x, y) => fraction(x.n * y.d, x.d * y.n);
const raised = (x, p) => (p < 0n ? fraction(x.d ** -p, x.n ** -p) : fraction(x.n ** p, x.d ** p));
const signOf = (n) => (n > 0n ? 1 : n < 0n ? -1 : 0);

// ---------------------------------------------------------------------------------- enclosures
// [low, high] with low <= x * 2^bits <= high.
function artanh(value, width) {
  const square = (value * value) >> width;
  let total = 0n;
  for (let number = 1n; value !== 0n; number += 2n) {
    total += value / number;
    value = (value * square) >> width;
  }
  return total;
}

const LN2 = new Map();
function ln2(bits) {
  if (!LN2.has(bits)) {
    const width = BigInt(bits + 32);
    const part = (factor, d) => factor * artanh((1n << width) / d, width);
    LN2.set(bits, (part(18n, 26n) + part(-2n, 4801n) + part(8n, 8749n)) >> 32n);
  }
  return LN2.get(bits);
}

function encloseExp({ n, d }, bits) {
  const turns = Number(below(below(n << 64n, d), ln2(64)));
  if (turns < -bits - 2) return [0n, 1n];
  const width = bits + 64 + Math.max(turns, 0);
  const wide = BigInt(width);
  const small = (below(n << BigInt(width + 32), d) - BigInt(turns) * ln2(width + 32)) >> 40n;
  let power = 1n << wide;
  let term = power;
  for (let number = 1n; term !== 0n && term !== -1n; number += 1n) {
    term = below((term * small) >> wide, number);
    power += term;
  }
  for (let squaring = 0; squaring < 8; squaring += 1) power = (power * power) >> wide;
  const lost = BigInt(width + 32) << 10n;
  const shift = turns + bits - width;
  return [most(shifted(power - lost, shift), 0n), shifted(power + lost, shift) + 1n];
}

function encloseLog({ n, d }, bits) {
  let doublings = length(n) - length(d);
  if (doublings > 0) d <<= BigInt(doublings);
  else n <<= BigInt(-doublings);
  if (3n * n > 4n * d) [d, doublings] = [d << 1n, doublings + 1];
  const width = bits + 64;
  const half = artanh((abs(n - d) << BigInt(width)) / (n + d), BigInt(width));
  const log = (n >= d ? 2n : -2n) * half + BigInt(doublings) * ln2(width);
  const lost = 8n * BigInt(width + Math.abs(doublings));
  return [(log - lost) >> 64n, ((log + lost) >> 64n) + 1n];
}

function encloseRoot({ n, d }, degree, bits) {
  const low = wholeRoot((n << (BigInt(bits) * degree)) / d, degree);
  return [low, low + 1n];
}

// ----------------------------------------------------------------------------------- the form
// A sum is a Map from text to { powers, factor }: factor * product of base^exponent; the base 0 is e.
// A logarithm is a term with the name of its number, in a Map of its own.
const E = 0n;
const keyOf = (powers) => powers.map(([base, e]) => `${base}^${e.n}/${e.d}`).join(" ");
const sum = (terms, logs = []) => {
  const made = { terms: new Map(), logs: new Map() };
  for (const { powers, factor } of terms) {
    const key = keyOf(powers);
    made.terms.set(key, { powers, factor: plus(made.terms.get(key)?.factor ?? ZERO, factor) });
  }
  for (const [base, factor] of logs) made.logs.set(base, plus(made.logs.get(base) ?? ZERO, factor));
  for (const [key, { factor }] of made.terms) if (factor.n === 0n) made.terms.delete(key);
  for (const [base, factor] of made.logs) if (factor.n === 0n || base === 1n) made.logs.delete(base);
  return made;
};

// One product; what is whole of its exponents goes into the factor.
function term(factor, exponents) {
  const powers = [];
  for (const [base, exponent] of exponents) {
    const whole = base === E ? 0n : below(exponent.n, exponent.d);
    const rest = plus(exponent, fraction(-whole));
    if (Math.abs(Number(whole)) * length(base) > 1 << 14) throw new NoForm();
    if (base > 1n) factor = times(factor, raised(fraction(base), whole));
    if (rest.n !== 0n && base !== 1n) powers.push([base, rest]);
  }
  return { powers: powers.sort(([x], [y]) => signOf(x - y)), factor };
}

const UNIT = sum([term(ONE, [])]);
const isUnit = ({ terms, logs }) => logs.size === 0 && terms.size === 1 && terms.get("")?.factor.n === 1n && terms.get("").factor.d === 1n;
const rational = (x) => ({ above: sum([term(x, [])]), below: UNIT });
const added = (x, y) => sum([...x.terms.values(), ...y.terms.values()], [...x.logs, ...y.logs]);

function joined(first, second) {
  const found = new Map(first);
  for (const [base, exponent] of second) found.set(base, plus(found.get(base) ?? ZERO, exponent));
  return found;
}

function multiplied(x, y) {
  if (isUnit(x)) return y;
  if (isUnit(y)) return x;
  if (y.logs.size) [x, y] = [y, x];
  if (x.logs.size && (y.logs.size || [...y.terms.keys()].some((key) => key !== ""))) throw new NoForm();
  if (x.terms.size * y.terms.size > 1024) throw new NoForm();
  const constant = y.terms.get("")?.factor ?? ZERO;
  const pairs = [...x.terms.values()].flatMap((one) => [...y.terms.values()].map((other) => [one, other]));
  return sum(
    pairs.map(([one, other]) => term(times(one.factor, other.factor), joined(one.powers, other.powers))),
    [...x.logs].map(([base, factor]) => [base, times(factor, constant)]),
  );
}

const textOf = ({ terms, logs }) =>
  [...terms].map(([key, { factor }]) => `${key}:${factor.n}/${factor.d}`).sort().join(";") +
  [...logs].map(([base, { n, d }]) => `|${base}:${n}/${d}`).sort().join("");

const FORMS = {
  add(x, y) {
    if (textOf(x.below) === textOf(y.below)) return { above: added(x.above, y.above), below: x.below };
    return {
      above: added(multiplied(x.above, y.below), multiplied(y.above, x.below)),
      below: multiplied(x.below, y.below),
    };
  },
  multiply: (x, y) => ({ above: multiplied(x.above, y.above), below: multiplied(x.below, y.below) }),
  divide: (x, y) => FORMS.multiply(x, { above: y.below, below: y.above }),
  power(x, exponent) {
    const part = (of) => {
      const { powers, factor } = oneProduct(of);
      const scaled = powers.map(([base, e]) => [base, times(e, exponent)]);
      const numbers = joined(new Map([[factor.n, exponent]]), [[factor.d, negative(exponent)]]);
      return sum([term(ONE, joined(scaled, numbers))]);
    };
    return { above: part(x.above), below: part(x.below) };
  },
  log(x) {
    const [up, down] = [oneProduct(x.above), oneProduct(x.below)];
    const factor = over(up.factor, down.factor);
    const flipped = down.powers.map(([base, e]) => [base, negative(e)]);
    const logs = joined(joined(joined(up.powers, flipped), [[factor.n, ONE]]), [[factor.d, negative(ONE)]]);
    const constant = logs.get(E) ?? ZERO;
    logs.delete(E);
    return { above: sum([term(constant, [])], [...logs]), below: UNIT };
  },
  exp(x) {
    const scale = x.below.terms.get("")?.factor;
    const plain = (of) => [...of.terms.keys()].every((key) => key === "");
    if (!scale || !plain(x.below) || x.below.logs.size || !plain(x.above)) throw new NoForm();
    const constant = x.above.terms.get("")?.factor ?? ZERO;
    const logs = [...x.above.logs].map(([base, factor]) => [base, over(factor, scale)]);
    return { above: sum([term(ONE, [...logs, [E, over(constant, scale)]])]), below: UNIT };
  },
};

function oneProduct({ terms, logs }) {
  const [only, ...others] = terms.values();
  if (logs.size || !only || others.length || only.factor.n < 0n) throw new NoForm();
  return only;
}

// Numbers without common divisor, none a power of a degree that divides `roots`, that all are made of.
function baseOf(numbers, roots) {
  const base = [];
  const pending = numbers.filter((n) => n > 1n);
  while (pending.length) {
    const number = pending.pop();
    const place = base.findIndex((each) => gcd(each, number) > 1n);
    if (place < 0) {
      base.push(number);
      continue;
    }
    const [other] = base.splice(place, 1);
    const shared = gcd(other, number);
    pending.push(...[shared, number / shared, other / shared].filter((n) => n > 1n));
  }
  return base.map((number) => {
    for (let degree = 2n; degree <= length(number); degree += 1n) {
      if (roots % degree !== 0n) continue;
      for (let root = wholeRoot(number, degree); root ** degree === number; root = wholeRoot(number, degree)) number = root;
    }
    return number;
  });
}

function isZero({ above: { terms, logs } }) {
  const all = [...terms.values()];
  const roots = all.flatMap(({ powers }) => powers.map(([, e]) => e.d)).reduce(lcm, 1n);
  const base = baseOf([...all.flatMap(({ powers }) => powers.map(([n]) => n)), ...logs.keys()], roots);
  const factored = (number) =>
    base.flatMap((each) => {
      let count = 0n;
      for (; number % each === 0n; number /= each) count += 1n;
      return count ? [[each, fraction(count)]] : [];
    });
  const reduced = ({ powers, factor }) => {
    const spread = ([n, e]) => (n === E ? [[E, e]] : factored(n).map(([each, count]) => [each, times(count, e)]));
    return term(factor, powers.map(spread).reduce(joined, new Map()));
  };
  const left = sum(all.map(reduced)).terms;
  const loose = sum([], [...logs].flatMap(([n, factor]) => factored(n).map(([each, count]) => [each, times(count, factor)]))).logs;
  if (loose.size && [...left.values()].some(({ powers }) => powers.some(([n]) => n === E))) throw new NoForm();
  return left.size === 0 && loose.size === 0;
}

// --------------------------------------------------------------------------------------- reals
class Real {
  constructor(...parts) {
    const name = parts.map((part) => (part instanceof Real ? part.identity : `${part.n}/${part.d}`));
    this.identity = createHash("sha256").update(`${this.constructor.name} ${name.join(" ")}`).digest("hex");
    this.known = { bits: -1 };
  }

  enclosure(bits) {
    if (bits > 4 * MOST_BITS) throw new Undecided();
    if (this.known.bits < bits) {
      const rounded = Math.ceil(bits / 64) * 64;
      this.known = { bits: rounded, ends: this.enclose(rounded) };
    }
    const [low, high] = this.known.ends;
    const shift = bits - this.known.bits;
    return [shifted(low, shift), -shifted(-high, shift)];
  }

  get isZero() {
    try {
      return isZero(this.form());
    } catch (error) {
      if (error instanceof NoForm) return false;
      throw error;
    }
  }
}

const isReal = (x) => x instanceof Real;
const enclosed = (x, bits) => (isReal(x) ? x.enclosure(bits) : [below(x.n << BigInt(bits), x.d), above(x.n << BigInt(bits), x.d)]);
const formOf = (x) => (isReal(x) ? x.form() : rational(x));

function* enclosures(x) {
  for (let bits = 64; bits <= MOST_BITS; bits *= 2) yield [bits, ...x.enclosure(bits)];
}

// Bits of |x| in front of the point, and behind it up to its first digit.
function front(x) {
  if (!isReal(x)) return Math.max(length(x.n) - length(x.d) + 1, 0);
  return Math.max(length(most(...x.enclosure(64).map(abs))) - 64, 0);
}

function behind(x) {
  if (!isReal(x)) return Math.max(length(x.d) - length(x.n) + 1, 0);
  for (const [bits, low, high] of enclosures(x)) {
    if (low > 0n || high < 0n) return Math.max(bits + 1 - length(least(abs(low), abs(high))), 0);
  }
  throw new Undecided();
}

class Sum extends Real {
  constructor(constant, parts) {
    super(constant, ...parts.flat());
    Object.assign(this, { constant, parts });
  }

  enclose(bits) {
    const size = this.parts.reduce((total, [factor]) => total + above(abs(factor.n), factor.d) + 1n, 0n);
    const spare = length(size) + 2;
    let [low, high] = enclosed(this.constant, bits + spare);
    for (const [factor, x] of this.parts) {
      const ends = x.enclosure(bits + spare).map((end) => factor.n * end);
      low += below(least(...ends), factor.d);
      high += above(most(...ends), factor.d);
    }
    return [shifted(low, -spare), -shifted(-high, -spare)];
  }

  form() {
    const scaled = ([factor, x]) => FORMS.multiply(formOf(x), rational(factor));
    return this.parts.map(scaled).reduce(FORMS.add, rational(this.constant));
  }
}

class Product extends Real {
  constructor(x, y) {
    super(x, y);
    Object.assign(this, { x, y });
  }

  enclose(bits) {
    const [ofX, ofY] = [bits + front(this.y) + GUARD, bits + front(this.x) + GUARD];
    const ends = this.x.enclosure(ofX).flatMap((a) => this.y.enclosure(ofY).map((b) => a * b));
    return [shifted(least(...ends), bits - ofX - ofY), -shifted(-most(...ends), bits - ofX - ofY)];
  }

  form() {
    return FORMS.multiply(formOf(this.x), formOf(this.y));
  }
}

class Quotient extends Real {
  constructor(x, y) {
    super(x, y);
    Object.assign(this, { x, y });
  }

  enclose(bits) {
    const small = behind(this.y);
    const ofX = bits + small + GUARD;
    const ofY = bits + front(this.x) + 2 * small + GUARD;
    const divisors = this.y.enclosure(ofY);
    const pairs = enclosed(this.x, ofX).flatMap((n) => divisors.map((d) => [shifted(n, bits + ofY - ofX), d]));
    return [least(...pairs.map(([n, d]) => below(n, d))), most(...pairs.map(([n, d]) => above(n, d)))];
  }

  form() {
    return FORMS.divide(formOf(this.x), formOf(this.y));
  }
}

class Power extends Real {
  constructor(x, exponent) {
    super(x, exponent);
    Object.assign(this, { x, exponent });
  }

  enclose(bits) {
    const { n, d } = this.exponent;
    const root = (x) => encloseRoot(raised(x, n), d, bits);
    if (!isReal(this.x)) return root(this.x);
    const steep = length(above(abs(n), d)) + (n > d ? Number(above(n - d, d)) * front(this.x) : Number(above(d - n, d)) * behind(this.x));
    const finer = bits + Math.max(steep, behind(this.x)) + GUARD;
    const ends = this.x.enclosure(finer).flatMap((end) => root(fraction(end, 1n << BigInt(finer))));
    return [least(...ends), most(...ends)];
  }

  form() {
    return FORMS.power(formOf(this.x), this.exponent);
  }
}

// A function that rises, of an argument that is taken `finer` than its value.
class Rising extends Real {
  constructor(x) {
    super(x);
    this.x = x;
  }

  enclose(bits) {
    if (!isReal(this.x)) return this.of(this.x, bits);
    const finer = bits + this.finer + GUARD;
    const [low, high] = this.x.enclosure(finer).map((end) => this.of(fraction(end, 1n << BigInt(finer)), bits));
    return [low[0], high[1]];
  }
}

class Exp extends Rising {
  of = encloseExp;
  finer = 80;

  form() {
    return FORMS.exp(formOf(this.x));
  }
}

class Log extends Rising {
  of = encloseLog;

  get finer() {
    return behind(this.x);
  }

  form() {
    return FORMS.log(formOf(this.x));
  }
}

function combined(...terms) {
  let constant = ZERO;
  const parts = new Map();
  for (const [factor, x] of terms) {
    if (!isReal(x)) constant = plus(constant, times(factor, x));
    else {
      if (x instanceof Sum) constant = plus(constant, times(factor, x.constant));
      for (const [each, real] of x instanceof Sum ? x.parts : [[ONE, x]]) {
        const before = parts.get(real.identity)?.[0] ?? ZERO;
        parts.set(real.identity, [plus(before, times(factor, each)), real]);
      }
    }
  }
  const kept = [...parts].sort(([x], [y]) => (x < y ? -1 : 1)).map(([, part]) => part).filter(([{ n }]) => n !== 0n);
  if (!kept.length) return constant;
  const [[{ n, d }, only]] = kept;
  return constant.n === 0n && n === 1n && d === 1n && kept.length === 1 ? only : new Sum(constant, kept);
}

const add = (x, y) => combined([ONE, x], [ONE, y]);
const subtract = (x, y) => combined([ONE, x], [negative(ONE), y]);

function multiply(x, y) {
  if (!isReal(x)) return combined([x, y]);
  if (!isReal(y)) return combined([y, x]);
  return x.identity < y.identity ? new Product(x, y) : new Product(y, x);
}

function divide(x, y) {
  if (!isReal(y)) return combined([over(ONE, y), x]);
  if (sign(y) === 0) throw new Error("a division by zero");
  if (!isReal(x) && x.n === 0n) return ZERO;
  return isReal(x) && x.identity === y.identity ? ONE : new Quotient(x, y);
}

function sign(x) {
  if (!isReal(x)) return signOf(x.n);
  if (x instanceof Power || x instanceof Exp) return 1;
  if (x instanceof Log) return compare(x.x, ONE);
  if (x instanceof Product || x instanceof Quotient) return sign(x.x) * sign(x.y);
  for (const [bits, low, high] of enclosures(x)) {
    if (low > 0n || high < 0n) return low > 0n ? 1 : -1;
    if (bits === FORM_BITS && x.isZero) return 0;
  }
  throw new Undecided();
}

const compare = (x, y) => sign(subtract(x, y));

// The largest whole k of at most x * scale + half / 2, and whether it is equal to that.
function lastAtMost(x, scale, half) {
  if (!isReal(x)) {
    const [n, d] = [2n * x.n * scale + half * x.d, 2n * x.d];
    return { k: below(n, d), tie: n % d === 0n };
  }
  for (const [bits, low, high] of enclosures(x)) {
    const one = 2n << BigInt(bits);
    const [first, last] = [low - 1n, high].map((end) => below(2n * end * scale + (half << BigInt(bits)), one));
    if (first === last) return { k: last, tie: false };
    if (first + 1n === last && bits >= FORM_BITS) {
      const side = compare(x, fraction(2n * last - half, 2n * scale));
      return { k: side < 0 ? last - 1n : last, tie: side === 0 };
    }
  }
  throw new Undecided();
}

// x * scale, half-even.
function nearest(x, scale) {
  const { k, tie } = lastAtMost(x, scale, 1n);
  return tie && k % 2n !== 0n ? k - 1n : k;
}

function power(x, exponent) {
  if (sign(x) === 0) return ZERO;
  if (exponent.n === 0n) return ONE;
  if (isReal(x)) return new Power(x, exponent);
  const [exact, degree] = [raised(x, exponent.n), exponent.d];
  const root = fraction(wholeRoot(exact.n, degree), wholeRoot(exact.d, degree));
  const again = raised(root, degree);
  return again.n === exact.n && again.d === exact.d ? root : new Power(x, exponent);
}

// The weights are whole numbers over one whole.
function geometricMean(numbers, whole, weights) {
  const parts = numbers.flatMap((x, i) => (BigInt(weights[i]) ? [power(x, fraction(BigInt(weights[i])))] : []));
  return power(parts.reduce(multiply, ONE), fraction(1n, BigInt(whole)));
}

const truth = (holds) => fraction(BigInt(holds));

// By operator: of two numbers of which one is a real.
const BINARY = {
  add,
  sub: subtract,
  mul: multiply,
  div: divide,
  min: (x, y) => (compare(y, x) < 0 ? y : x),
  max: (x, y) => (compare(y, x) > 0 ? y : x),
  lt: (x, y) => truth(compare(x, y) < 0),
  le: (x, y) => truth(compare(x, y) <= 0),
  eq: (x, y) => truth(compare(x, y) === 0),
};

// By operator: of any number, with the data of the node and its other arguments.
const FUNCTIONS = {
  power: (x, _, exponent) => power(x, exponent),
  geometric: (x, [whole, ...weights], ...others) => geometricMean([x, ...others], whole, weights),
  exp: (x) => (isReal(x) || x.n !== 0n ? new Exp(x) : ONE),
  log: (x) => (!isReal(x) && x.n === x.d ? ZERO : new Log(x)),
  floor: (x) => fraction(lastAtMost(x, 1n, 0n).k),
  round: (x, [places]) => fraction(nearest(x, 10n ** BigInt(places)), 10n ** BigInt(places)),
};

// Fractions of the interpreter are not reduced.
const reduced = (x) => (isReal(x) ? x : fraction(x.n, x.d));

module.exports = {
  isReal,
  Undecided,
  nearest,
  takes: (op) => op in FUNCTIONS,
  of: (op, data, x, ...others) => FUNCTIONS[op](reduced(x), data, ...others.map(reduced)),
  // Of fractions alone by the operators that are given.
  binary: (op, x, y, ofFractions) => (isReal(x) || isReal(y) ? BINARY[op](reduced(x), reduced(y)) : ofFractions[op](x, y)),
  // A real without its sign; of a fraction nothing.
  positive: (x) => (isReal(x) ? (sign(x) < 0 ? subtract(ZERO, x) : x) : undefined),
};
