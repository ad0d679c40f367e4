CREATE TABLE tallystick_checksums (
    name TEXT NOT NULL,
    rows BIGINT NOT NULL,
    total BIGINT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE tallystick_claim_counts (
    scope BYTEA NOT NULL,
    round INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (scope, round, rank)
);

CREATE TABLE tallystick_envelopes (
    statement TEXT NOT NULL,
    envelope TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (statement)
);

CREATE TABLE tallystick_epochs (
    epoch INTEGER NOT NULL,
    leaf TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (epoch)
);

CREATE TABLE tallystick_head (
    id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    entries BIGINT NOT NULL,
    hash TEXT NOT NULL,
    state TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (id)
);

CREATE TABLE tallystick_log (
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (seq)
);

CREATE INDEX tallystick_log_clear ON tallystick_log (seq) WHERE kind = 'clear';

CREATE INDEX tallystick_log_kinds ON tallystick_log (kind, seq) WHERE kind NOT IN ('signal', 'own', 'signed');

CREATE TABLE tallystick_quarantine (
    seq BIGINT NOT NULL,
    identity BYTEA NOT NULL,
    task BYTEA NOT NULL,
    scope BYTEA NOT NULL,
    rank INTEGER NOT NULL,
    reason TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (seq)
);

CREATE INDEX tallystick_quarantine_identity ON tallystick_quarantine (identity);

CREATE INDEX tallystick_quarantine_scope ON tallystick_quarantine (scope);

CREATE INDEX tallystick_quarantine_task ON tallystick_quarantine (task);

CREATE TABLE tallystick_rounds (
    round INTEGER NOT NULL,
    at TEXT,
    checksum BIGINT,
    PRIMARY KEY (round)
);

CREATE TABLE tallystick_signals (
    seq BIGINT NOT NULL,
    identity BYTEA NOT NULL,
    counted_in INTEGER NOT NULL,
    round INTEGER NOT NULL,
    hotkey TEXT NOT NULL,
    skill_type TEXT NOT NULL,
    role TEXT,
    is_record BOOLEAN NOT NULL,
    rank INTEGER NOT NULL,
    epoch INTEGER,
    checksum BIGINT,
    PRIMARY KEY (seq),
    CONSTRAINT tallystick_signals_identity UNIQUE (identity)
);

CREATE INDEX tallystick_signals_counted_in ON tallystick_signals (counted_in, seq);

CREATE INDEX tallystick_signals_hotkey ON tallystick_signals (hotkey, is_record, round);

CREATE INDEX tallystick_signals_role ON tallystick_signals (skill_type, hotkey, round, role);

CREATE INDEX tallystick_signals_round ON tallystick_signals (round, seq);

CREATE TABLE tallystick_snapshots (
    epoch INTEGER NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (epoch)
);
