import type { CAC } from 'cac'

/** Adds `mx bench [METHOD] <path or URL>`: load on one route of a running gateway. */
export function registerBench(cli: CAC): void {
  cli
    .command('bench [...request]', 'Drive one route of a running gateway and measure it')
    .usage('bench [METHOD] <path or URL> [flags]')
    .option('--address <host:port>', 'Gateway that a path is asked of (default: 127.0.0.1:8080)')
    .option('--connections <n>', 'Client connections (default: 64)')
    .option('--duration <time>', 'How long to send: 500ms, 10s, 2m (default: 10s)')
    .option(
      '--rate <n>',
      'Requests per second, sent when due whatever the replies do; without it each connection waits for its reply',
    )
    .option('--body <text>', 'Request body, or @file; the method is then POST unless given')
    .option('--header <field>', 'Request header "name: value"; may be repeated')
    .option('--timeout <time>', 'Longest wait for a connection or a reply (default: 10s)')
    .option('-o, --output <format>', 'text or json (default: text)')
    .example((bin) => `  ${bin} bench /greeter/hello`)
    .example(
      (bin) =>
        `  ${bin} bench POST /greeter/hello --body '{"name":"John"}' --rate 5000 --duration 30s`,
    )
    .allowUnknownOptions()
    .action(async () => {
      const { bench } = await import('../load/bench.ts')
      const words = cli.rawArgs.slice(2)
      process.exitCode = await bench(words.slice(words.indexOf('bench') + 1))
    })
}
