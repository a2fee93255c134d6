import t, { type Test } from 'tap'
import logsCommand from '../../../../cli/commands/runtime/logs.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { openCli } from '../../../fixtures/cli.ts'
import { startMx } from '../../../fixtures/mx.ts'

const { runtime, home } = await openCli(t)
runtime.objects.set('mail', {
  name: 'mail',
  version: 'latest',
  source: '',
  status: 4,
  metadata: {},
})
for (let n = 1; n <= 20; n++)
  runtime.lines.push({ timestamp: n, metadata: { stream: 'stderr' }, message: `line ${n}` })
const last = () => runtime.calls.at(-1)!.request

async function logs(t: Test, ...words: string[]): Promise<string> {
  const written = t.capture(process.stdout, 'write', () => true)
  try {
    await logsCommand.run(words)
  } finally {
    written.restore()
  }
  return written()
    .map(({ args }) => String(args[0]))
    .join('')
}

t.test('mx logs prints the last 15 lines, or --lines of them', async (t) => {
  const lines = (await logs(t, 'mail')).split('\n')
  t.same(lines, [...Array.from({ length: 15 }, (_, i) => `line ${i + 6}`), ''])
  t.same(last(), {
    ...{ service: 'mail', version: '', stream: false, count: 15, since: 0 },
    options: { namespace: 'mx' },
  })
  t.equal(await logs(t, 'mail', '-n', '2'), 'line 19\nline 20\n')
  await logs(t, 'mail@v1', '--lines=all')
  t.match(last(), { version: 'v1', count: 0 })
  await logs(t, 'mail', '--version=v2')
  t.match(last(), { version: 'v2' })
})

t.test('JSON log lines are formatted on a terminal and unchanged in a pipe', async (t) => {
  const message =
    '{"level":30,"time":"2026-01-02T03:04:05.678Z","service":"mail","msg":"sent","to":7}'
  runtime.lines.push({ timestamp: 21, metadata: { stream: 'stderr' }, message })
  const { isTTY } = process.stdout
  t.teardown(() => {
    runtime.lines.pop()
    process.stdout.isTTY = isTTY
  })
  process.stdout.isTTY = true
  t.equal(await logs(t, 'mail', '-n1'), '03:04:05 info  mail: sent to=7\n')
  t.match(JSON.parse(await logs(t, 'mail', '-n1', '-o', 'json')), { message })
  process.stdout.isTTY = false
  t.equal(await logs(t, 'mail', '-n1'), `${message}\n`)
})

t.test('a terminal shows a heading when the instance changes', async (t) => {
  const lines = runtime.lines.splice(0)
  const { isTTY } = process.stdout
  t.teardown(() => {
    runtime.lines.splice(0, runtime.lines.length, ...lines)
    process.stdout.isTTY = isTTY
  })
  for (const [instance, message] of [
    ['old', 'ready'],
    ['new', 'ready'],
    ['old', 'stopped'],
  ] as const)
    runtime.lines.push({ timestamp: 1, metadata: { instance, stream: 'stderr' }, message })
  process.stdout.isTTY = true
  t.equal(
    await logs(t, 'mail'),
    'ready\n==> instance new <==\nready\n==> instance old <==\nstopped\n',
  )
  process.stdout.isTTY = false
  t.equal(await logs(t, 'mail'), 'ready\nready\nstopped\n')
})

t.test('--build prints the output of the last build', async (t) => {
  runtime.build = 'added 3 packages\nno such module\n'
  t.equal(await logs(t, 'mail', '--build'), runtime.build)
  await t.rejects(logs(t, 'mail', '--build', '-n', '3'), {
    status: 2,
    message: /cannot be combined with --lines/,
  })
})

t.test('without log lines, mx logs points to --build on standard error', async (t) => {
  const lines = runtime.lines.splice(0)
  t.teardown(() => runtime.lines.push(...lines))
  const stderr = t.capture(process.stderr, 'write', () => true)
  t.equal(await logs(t, 'mail'), '')
  t.match(stderr(), [{ args: [/^mx: no logs of mail yet; 'mx logs mail --build' shows/] }])
  await logs(t, 'mail', '-n', '0')
  t.same(stderr(), [], '-n 0 prints no notice')
})

t.test('--since accepts a duration or a time', async (t) => {
  const now = Date.now() / 1000
  await logs(t, 'mail', '--since=10m')
  t.ok(Math.abs(last().since - (now - 600)) < 60)
  t.equal(last().count, 0, '--since removes the limit of lines')
  await logs(t, 'mail', '--since=2026-01-31T12:00:00Z', '-n5')
  t.match(last(), { since: Date.UTC(2026, 0, 31, 12) / 1000, count: 5 })
  await logs(t, 'mail', '-n', '0')
  t.ok(last().since >= now, '-n 0 starts at the current time')
})

t.test('-o json prints each line with its time and stream', async (t) => {
  const line = { timestamp: 20, metadata: { stream: 'stderr' }, message: 'line 20' }
  t.same(JSON.parse(await logs(t, 'mail', '-n1', '-o', 'json')), line)
})

t.test('malformed arguments are rejected with the expected form', async (t) => {
  await t.rejects(logs(t, 'mial'), { message: /^Logs not found for service mial/, status: 1 })
  await t.rejects(logs(t), { message: "expected one name, got 0. See 'mx logs --help'", status: 2 })
  await t.rejects(logs(t, 'mail', '--lines=x'), { message: /^--lines must be .*, got x\./ })
  await t.rejects(logs(t, 'mail', '--since=soon'), { message: /^--since must be a duration/ })
  await t.rejects(logs(t, 'mail', '-o', 'xml'), { message: /text, json or yaml/ })
})

t.test('-f prints new lines until its reader closes the pipe', async (t) => {
  const {
    child,
    output,
    waitUntil: untilWritten,
    ended,
  } = startMx(['logs', '-f', '-n1', 'mail'], {
    cwd: home,
    env: { HOME: home, MX_ENV_LOCAL_ADDRESS: process.env['MX_ENV_LOCAL_ADDRESS']! },
  })
  t.teardown(() => child.kill('SIGKILL'))
  await untilWritten(/line 20\n/)
  await waitUntil(() => runtime.followers() > 0)
  runtime.write('later')
  await untilWritten(/later\n/)
  t.equal(output.stdout, 'line 20\nlater\n')
  child.stdout!.destroy()
  await waitUntil(() => {
    runtime.write('unread')
    return child.exitCode !== null
  })
  await ended.catch(() => {})
  t.equal(child.exitCode, 0, 'a closed pipe is not an error')
  t.equal(output.stderr, '')
})
