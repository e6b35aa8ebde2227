"""The texts the trial's world is made of. Slots in braces are filled from the seed."""

from __future__ import annotations

SERVICES = (
    "anchor beacon cobalt compass courier ember falcon granite harbor juniper kestrel lantern magnet"
    " meadow orchard pebble prism quarry saffron willow"
).split()
PEOPLE = (
    "Amara Bjorn Chiara Dmitri Elif Farid Greta Hiroshi Ines Jonas Kavya Luis Mbali Nadia Oskar Priya".split()
)
TEAMS = "Heron Otter Lynx Badger Osprey Marten Ibis Tapir Gecko Puffin".split()
CITIES = "Frankfurt Dublin Oregon Tokyo Sydney Mumbai Montreal Zurich".split()
DATABASES = ("PostgreSQL", "MySQL", "MongoDB", "Cassandra", "DynamoDB", "ClickHouse")
RUNTIMES = (("Python", 3), ("Go", 1), ("Ruby", 3), ("Kotlin", 2), ("Elixir", 1), ("Scala", 3))
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday".split()
LICENSES = ("the MIT license", "Apache 2.0", "the GPL", "the Mozilla license")
MAILERS = ("Mailgun", "Postmark", "SendGrid", "Amazon SES")
REASONS = (
    "the team knows how to run it",
    "backups were simpler",
    "it was half the price",
    "reads have to be fast",
    "transactions matter here",
    "it was already there",
)

# What a service does, and a question about it in other words.
ROLES = (
    ("{service} sends e-mail to customers through {mailer}.", "which program delivers mail to our clients"),
    ("{service} answers full-text queries over the product catalogue.", "what lets shoppers look up goods"),
    ("{service} checks passwords and issues session tokens.", "which program authenticates people at login"),
    ("{service} resizes pictures and stores thumbnails.", "where are photos scaled down"),
    ("{service} builds the monthly reports as spreadsheets.", "what makes the Excel summaries"),
    ("{service} starts batch jobs at fixed times of the day.", "what runs recurring work on a timetable"),
    ("{service} keeps the stock level of each warehouse.", "what tracks our inventory"),
    ("{service} computes sales tax by country.", "what calculates VAT"),
)

GOTCHAS = (
    "{service} deadlocks when two imports for the same tenant run at once.",
    "{service} holds one connection per tenant, so its pool needs at least {pool}.",
    "{service} silently cuts names longer than {limit} characters.",
    "{service} reads an empty list as no filter at all and returns everything.",
    "{service} caches DNS for ever: restart it after a failover.",
    "{service} sorts wrongly under any locale but C.",
    "{service} leaks file handles when a client hangs up in the middle of an upload.",
    "{service} retries a failed webhook {small} times and then drops it without a trace.",
)

FAILURES = (
    ("the signing key is older than {days} days", "rotate it with `make rotate-key`"),
    ("a schema is ahead of the code", "deploy the code before the migration"),
    ("the queue holds more than {limit} messages", "scale the consumers first"),
    ("the tenant has no price list", "load the default one"),
    ("two leaders were elected", "stop the older node"),
    ("the upstream answered with HTML", "look at the proxy, not at the service"),
    ("the disk is {percent} percent full", "prune the write-ahead log archive"),
    ("the clock is skewed by more than {small} seconds", "restart chrony"),
)

# What every service has; the key names the statement.
FACETS = (
    ("port", "infrastructure", "The {service} service listens on port {port}."),
    ("staging", "infrastructure", "In staging the {service} service listens on port {staging_port}."),
    ("runtime", "fact", "The runtime of {service} is {runtime} {version}."),
    ("owner", "fact", "Team {team} owns {service}."),
    ("storage", "decision", "The database of {service} is {database}: {reason}."),
    ("error", "reference", "Error {code} from {service} means that {failure}; {remedy}."),
    (
        "deploy",
        "procedure",
        "To deploy {service}: tag the commit, run `make {service}-release`, watch it for {minutes} min.",
    ),
    ("variable", "config", "{SERVICE}_TIMEOUT_MS bounds one request of {service}; the default is {timeout}."),
    ("region", "infrastructure", "The {small} replicas of {service} are hosted in {city}."),
)

# Statements, each with a question that shares few words with it.
TOPICS = (
    ("procedure", "Merges to the main branch are frozen {hours} hours before a release.",
     "how long ahead of shipping do we stop accepting commits"),
    ("security", "Customer passwords are hashed with argon2id at {small} passes.",
     "how do we protect stored credentials of clients"),
    ("procedure", "When memory climbs above {percent} percent, restart the worker pool.",
     "what to do if RAM usage gets too high"),
    ("procedure", "Feature flags are removed {days} days after full rollout.",
     "when do we delete switches for new functionality that everyone has"),
    ("decision", "Invoice amounts are rounded half to even, line by line.",
     "what happens to fractions of a cent on a bill"),
    ("preference", "{person} insists that every picture in the manual carries a text for screen readers.",
     "how do blind people use our documentation"),
    ("observation", "The staging cluster sleeps at night and takes {minutes} minutes to wake up.",
     "why does staging react so slowly early in the day"),
    ("procedure", "A flaky test goes to quarantine with a ticket and an owner.",
     "what happens to tests that fail at random"),
    ("procedure", "The on-call rota changes every {weekday} at {hour}:00.",
     "when do night shifts swap"),
    ("decision", "We left GraphQL and went back to plain REST because caching was painful.",
     "reason for abandoning the graph query language"),
    ("infrastructure", "Nightly backups of the database go to a bucket in {city}.",
     "in which bucket are disaster recovery copies"),
    ("preference", "{person} prefers tabs in Makefiles and four spaces everywhere else.",
     "indentation style"),
    ("observation", "The payment provider throttles us above {rate} requests a second.",
     "limit on calls to the credit card processor"),
    ("fact", "Clocks on the sensor boards drift by up to {small} seconds a day.",
     "can we trust the timestamps of the devices"),
    ("security", "Laptops must be encrypted; the recovery key lies in the company vault.",
     "what protects us when a notebook computer is stolen"),
    ("procedure", "New colleagues get read access first and write access after {days} days.",
     "permissions for people who just joined the company"),
    ("decision", "Dark mode ships last; readable contrast comes first.",
     "priority of the black colour theme"),
    ("observation", "Builds on macOS fail when the path contains a space.",
     "compilation breaks on Apple machines"),
    ("knowledge", "The legacy importer reads files in Windows-1252, not UTF-8.",
     "which text encoding does the old loader expect"),
    ("procedure", "Strings shown to users go through the translation catalogue, never inline.",
     "how do we localise messages into other languages"),
    ("task", "Renew the TLS certificate of the public site before the {day}th.",
     "deadline for https on our homepage"),
    ("fact", "Our open source libraries are released under {license}.",
     "copyright terms of the code we publish"),
    ("observation", "Searches that begin with a wildcard scan the whole table and time out.",
     "leading asterisk makes queries crawl"),
    ("decision", "Money is stored as integer cents, never as floating point.",
     "data type for currency"),
    ("procedure", "After a bad deploy roll back first and look for the cause later.",
     "production is broken by the new release, what is the first step"),
    ("home", "The office plants are watered by {person} on {weekday}s.",
     "who takes care of the greenery at work"),
)  # fmt: skip

# Nobody asks about these: they stand in the way, as most of a store does.
BACKGROUND = (
    ("preference", "Commit messages use the imperative mood and stay under {columns} columns."),
    ("preference", "{person} reads diffs in the terminal, never in the browser."),
    ("preference", "Answers in reviews come within {hours} hours."),
    ("preference", "{person} likes table-driven tests."),
    ("procedure", "Run `make lint` before every push; the hook is in tools/hooks/pre-push."),
    ("procedure", "Open a fresh branch per ticket, named after the ticket's number."),
    ("procedure", "Dependencies are raised once a month, on the first {weekday}."),
    ("procedure", "Load tests run against the copy in {city}, at {rate} requests a second."),
    ("decision", "Protocol buffers stay at version 3 until all clients are rebuilt."),
    ("decision", "Kubernetes manifests are rendered by Kustomize, not by Helm."),
    ("decision", "The mobile app keeps supporting the two latest versions of Android."),
    ("decision", "Dates in public interfaces are ISO 8601 in UTC."),
    ("fact", "The design system lives in packages/ui and is versioned apart."),
    ("fact", "The monorepo holds {lines} packages."),
    ("fact", "Room {limit} has the only printer that works."),
    ("fact", "The quarterly planning meets on a {weekday}."),
    ("observation", "Integration tests take {minutes} minutes with a cold cache."),
    ("observation", "The linter crashes on generated files over {limit} kB."),
    ("observation", "Docker on the build agents runs out of inodes before it runs out of space."),
    ("observation", "Chrome {pool} renders the date picker one pixel too low."),
    ("knowledge", "A vacuum of the events table takes about {minutes} minutes."),
    ("knowledge", "The vendor's sandbox resets every {weekday}."),
    ("task", "Replace the deprecated logger in the admin console."),
    ("task", "Ask {person} for the numbers of the third quarter."),
    ("note", "The whiteboard sketch of the event flow is in docs/sketches/flow.png."),
    ("note", "{person} gave a talk on zero-downtime schema changes."),
)

# What a store of code notes must keep exactly as it is, and a question by which it is found.
AWKWARD = (
    ("cjk", "note", "本番環境の{service}はデプロイ前に必ずキャッシュを無効化すること。",
     "デプロイ前のキャッシュ"),
    ("eval", "snippet", 'Never write eval(f"lambda row: {{row.{service}}}"): use operator.attrgetter.',
     "eval( lambda row"),
    ("sql", "snippet", "SELECT id FROM {service}_orders WHERE total > {limit} AND state <> 'void'; -- slow",
     "{service}_orders void"),
    ("html", "snippet", '<script src="/static/{service}.js" defer></script> must stand before </body>',
     "static/{service}.js"),
    ("camel", "code", "retryBudgetFor{Service} in src/net/{service}_client.ts counts attempts, not requests.",
     "retry budget"),
    ("path", "reference", "The runbook of {service} is docs/runbooks/{service}/failover.md.",
     "docs/runbooks/{service}/failover.md"),
    ("version", "migration-log", "{service} moved from libcurl 8.{small}.1 to 8.{small}.2: HTTP/2 crashed.",
     "libcurl 8.{small}.2"),
    ("accent", "preference", "Zoë writes naïve, café and São Paulo with their accents in {service}.",
     "cafe Sao Paulo"),
    ("negation_do", "procedure", "Do run the {service} migration during the nightly window.",
     "do run the {service} migration"),
    ("negation_not", "procedure", "Do not run the {service} migration during business hours.",
     "do not run the {service} migration"),
)  # fmt: skip
