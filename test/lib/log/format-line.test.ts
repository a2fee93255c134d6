import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { formatAccessLine, formatLogLine, formatWrittenLine } from '../../../lib/log/format-line.ts'
import { LOADER, toModule } from '../../fixtures/programs.ts'
import { skipUnless } from '../../fixtures/servers.ts'

const run = promisify(execFile)
const module = (path: string): string =>
  JSON.stringify(toModule(new URL(`../../../${path}`, import.meta.url)))

/** Output of a program to a terminal and to a pipe. */
async function runBoth(t: Test, program: string): Promise<readonly [string, string] | undefined> {
  if (skipUnless(t, 'script') === undefined) return undefined
  const args = [...LOADER, '--input-type=module', '-e', program]
  const command = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const { NO_COLOR: _, ...env } = process.env
  const terminal = await run('script', ['-qec', command, '/dev/null'], { env })
  const pipe = await run(process.execPath, args, { env })
  return [terminal.stdout.replaceAll('\r\n', '\n'), pipe.stdout + pipe.stderr]
}

t.test(
  'a log line on a terminal has time, level, message and fields, with a coloured level if requested',
  async (t) => {
    const entry = {
      level: 40,
      time: '2026-01-02T03:04:05.678Z',
      pid: 1,
      hostname: 'h',
      msg: 'skipped',
      node: 'a:1',
      why: 'x y',
    }
    t.equal(formatLogLine(entry, false), '03:04:05 warn  skipped node=a:1 why="x y"\n')
    t.ok(formatLogLine(entry, true).startsWith('03:04:05 \u001b[33mwarn \u001b[0m skipped'))
    const failed = formatLogLine(
      { ...entry, level: 50, err: { stack: 'Error: no\n    at x' } },
      false,
    )
    t.equal(failed, '03:04:05 error skipped node=a:1 why="x y"\nError: no\n    at x\n')
  },
)

t.test('a log line on a terminal escapes control characters', async (t) => {
  const entry = { level: 50, time: '2026-01-02T03:04:05.678Z', msg: 'a\x1b[2J', node: '\u009b' }
  const line = formatLogLine({ ...entry, err: { stack: 'Error: \u202eno\n\tat x\x07' } }, false)
  t.equal(line, '03:04:05 error a\\u001b[2J node="\\u009b"\nError: \\u202eno\n\tat x\\u0007\n')
})

t.test('a log line of a service on a terminal begins with the service name', (t) => {
  const entry = { level: 30, time: '2026-01-02T03:04:05.678Z', service: 'shop', msg: 'sold', id: 7 }
  t.equal(formatLogLine(entry, true), '03:04:05 info  shop: sold id=7\n')
  t.end()
})

t.test('a line of the access log on a terminal shows request, status and duration', (t) => {
  const entry = {
    ...{
      time: '2026-01-02T03:04:05.678Z',
      id: 'r1',
      client: '192.0.2.1',
      method: 'GET',
      path: '/shop',
    },
    ...{ host: 'h', status: 200, bytesIn: 0, bytesOut: 2, durationMs: 1.5, service: 'shop' },
  }
  t.equal(
    formatAccessLine(entry, false),
    '03:04:05 info  shop: GET /shop 200 1.5 ms id=r1 client=192.0.2.1\n',
  )
  t.match(
    formatAccessLine({ ...entry, status: 502, error: 'reset' }, false),
    /error shop: GET .* error=reset/,
  )
  t.end()
})

t.test('a written line is formatted if it is a JSON log entry, otherwise unchanged', (t) => {
  const line = '{"level":40,"time":1767323045678,"msg":"slow","ms":7}'
  t.equal(formatWrittenLine(line, false), '03:04:05 warn  slow ms=7\n')
  for (const other of ['listening', '{"a":1}', '{"level":40', '{"level":"x","msg":"y"}', ''])
    t.equal(formatWrittenLine(other, false), `${other}\n`)
  t.end()
})

t.test('the log of a service is formatted on a terminal and JSON in a pipe', async (t) => {
  const outputs = await runBoth(
    t,
    `import { createServiceLog } from ${module('sdk/log/service-log.ts')}
    createServiceLog({ service: "shop" }).info({ id: 7 }, "sold")`,
  )
  if (outputs === undefined) return
  t.match(outputs[0], /^\d\d:\d\d:\d\d info {2}shop: sold id=7\n$/)
  t.match(JSON.parse(outputs[1]), { level: 30, service: 'shop', id: 7, msg: 'sold' })
})

t.test('the access log is formatted on a terminal and JSON in a pipe', async (t) => {
  const outputs = await runBoth(
    t,
    `import plugin from ${module('plugins/telemetry/access-log.ts')}
    import { buildPlugin, createTestEnv, runPlugin } from ${module('sdk/testing.ts')}
    const built = buildPlugin(plugin, { path: "stdout" }, createTestEnv("."))
    await runPlugin(built, { path: "/sh\u00f6p" }, { handle: (x) => x.reply(200, "ok") })
    await built.close()`,
  )
  if (outputs === undefined) return
  t.match(outputs[0], /^\d\d:\d\d:\d\d info {2}test: GET \/sh\\u00f6p 200 [\d.]+ ms /)
  t.match(JSON.parse(outputs[1]), { method: 'GET', path: '/sh\u00f6p', status: 200 })
})
