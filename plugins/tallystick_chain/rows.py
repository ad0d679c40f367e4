"""Rows of the commands for a chain."""

from tallystick.plugins.commands import INPUT, VALUE, Command, CommandOption, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("chain",),
            "tallystick_chain.cli.chain:chain",
            "Show what a network file and its chain say.",
            heading="state",
        ),
    ),
    options=(
        CommandOption(
            command=("miner", "sync"),
            flag="--chain",
            metavar="URL",
            help="Read the miners from a chain in place of FILE, such as sdk11:finney.",
            kind=INPUT,
            home="tallystick_chain.cli.inputs:miners_of_chain",
            paragraph="With --chain the miners are those of a subnet at a finalized block, by the "
            "network file, each with the block of its registration.",
            example="tallystick miner sync --chain sdk11:finney --network network.toml \\\n"
            "      --state subnet.db",
        ),
        CommandOption(
            command=("state", "init"),
            flag="--network",
            metavar="FILE",
            help="The network file, whose digest every digest of the state then covers.",
            kind=INPUT,
            home="tallystick_chain.cli.inputs:network_of_state",
        ),
        CommandOption(
            command=("state", "init"),
            flag="--chain",
            metavar="URL",
            help="Of state.npz, take the hotkeys alone that have their slots on this chain still.",
            kind=VALUE,
        ),
        CommandOption(
            command=("groups", "select"),
            flag="--chain",
            metavar="URL",
            help="Take the seed from a chain: the hash of the round's block.",
            kind=INPUT,
            home="tallystick_chain.cli.inputs:seed_of_chain",
        ),
        *(
            CommandOption(
                command=command,
                flag="--network",
                metavar="FILE",
                help="With --chain, the network file.",
                kind=VALUE,
            )
            for command in (("miner", "sync"), ("groups", "select"))
        ),
        CommandOption(
            command=("miner", "sync"),
            flag="--block",
            metavar="B",
            help="With --chain, the block; by default the newest finalized one.",
            kind=VALUE,
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
