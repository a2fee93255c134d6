import type { CAC } from 'cac'

/** Adds `mx events publish`, `consume`, `read` and `topics` (reference 5.2). */
export function registerEvents(cli: CAC): void {
  cli
    .command('events [...words]', 'Publish, consume, read and list events')
    .usage(
      'events <publish <topic> <payload> | consume <topic> | read <topic> | topics [topic]> [flags]',
    )
    .option('--metadata <name=value>', 'Of publish: said of the event; repeatable')
    .option('--timestamp <time>', 'Of publish: when it happened (default: now)')
    .option('--group <name>', 'Of consume: of all who name the same, one gets an event')
    .option(
      '--offset <n>',
      'Of consume: the sequence a new group begins with (default: new events); of read: so many are left out',
    )
    .option(
      '--since <span or time>',
      'Only what is not older, such as 10m or 2026-01-31T12:00:00Z; of consume in place of --offset',
    )
    .option(
      '-l, --limit <n>',
      'Of consume: ends after so many (default: at Ctrl-C); of read: most, 0 for all (default: 250)',
    )
    .option(
      '-v, --verbose',
      'Of read: with sequence, time, id and metadata; of topics: with their groups',
    )
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the topic (default: that of the login)')
    .example((bin) => `  ${bin} events publish orders '{"id":5}' --metadata source=shop`)
    .example((bin) => `  ${bin} events consume orders --group billing --offset 1 -o json`)
    .example((bin) => `  ${bin} events read orders --since 1h -v`)
    .example((bin) => `  ${bin} events topics -v`)
    .allowUnknownOptions()
    .action(async () => {
      const { runEvents } = await import('../events.ts')
      await runEvents(cli)
    })
}
