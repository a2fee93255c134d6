import t, { type Test } from 'tap'
import statusCommand from '../../../../cli/commands/runtime/status.ts'
import { openCli } from '../../../fixtures/cli.ts'

const { runtime } = await openCli(t)

async function status(t: Test, ...words: string[]): Promise<string> {
  const written = t.capture(process.stdout, 'write', () => true)
  try {
    await statusCommand.run(words)
  } finally {
    written.restore()
  }
  return written()
    .map(({ args }) => String(args[0]))
    .join('')
}

t.test('without services, status prints a hint at a terminal and nothing to a pipe', async (t) => {
  const { isTTY } = process.stdout
  t.teardown(() => {
    process.stdout.isTTY = isTTY
  })
  const errors = t.capture(process.stderr, 'write', () => true)
  process.stdout.isTTY = false
  t.equal(await status(t), '')
  t.same(errors(), [])
  process.stdout.isTTY = true
  t.equal(await status(t), '')
  t.match(errors(), [{ args: [/^mx: no services running; start one with 'mx run <folder>'\n$/] }])
  t.same(JSON.parse(await status(t, '-o', 'json')), [])
})

t.test('status prints one line per object, sorted by name', async (t) => {
  const started = new Date(Date.now() - 90_061_000).toISOString()
  runtime.objects.set('mail', {
    ...{ name: 'mail', version: 'latest', source: 'source://mail:latest', status: 4 },
    metadata: {
      ...{ source: './my mail', owner: 'admin', group: 'mx', started, status: 'running' },
      build: '0123456789abcdef',
    },
  })
  runtime.objects.set('crash', {
    ...{ name: 'crash', version: 'main', source: 'github.com/someone/crash', status: 7 },
    metadata: { owner: 'jane', error: 'build failed: exit 1\nno table' },
  })
  const lines = (await status(t)).split('\n')
  t.equal(lines.length, 4)
  t.same(lines[0]!.split(/\t+/), 'NAME VERSION SOURCE STATUS BUILD UPDATED METADATA'.split(' '))
  t.same(lines[1]!.split(/\t+/), [
    ...['crash', 'main', 'github.com/someone/crash', 'error', 'n/a', 'unknown'],
    'owner=jane, error=build failed: exit 1',
  ])
  t.match(lines[2], /^mail\s+latest\s+\S+\s+running\t/, 'a source with a space is one column')
  t.match(lines[2], /\t0123456\t+1d1h1m[12]s ago\t+owner=admin, group=mx$/)
})

t.test('a restarting object shows its restarts and last failure', async (t) => {
  const metadata = { owner: 'jane', restarts: '3', lastFailure: 'exited with code 7\nmore' }
  const object = { name: 'loop', version: 'latest', source: '', status: 4, metadata }
  runtime.objects.set('loop', object)
  t.teardown(() => runtime.objects.delete('loop'))
  t.match(await status(t, 'loop'), /\towner=jane, restarts=3, lastFailure=exited with code 7\n/)
  runtime.objects.set('loop', { ...object, metadata: { ...metadata, error: 'the same' } })
  t.match(
    await status(t, 'loop'),
    /\towner=jane, error=the same, restarts=3\n/,
    'the failure is shown once',
  )
})

t.test('at a terminal, problems come before the owner', async (t) => {
  const metadata = { owner: 'jane', group: 'mx', error: 'exited', restarts: '3' }
  runtime.objects.set('loop', {
    ...{ name: 'loop', version: 'latest', source: '', status: 7 },
    metadata,
  })
  t.teardown(() => runtime.objects.delete('loop'))
  t.match(await status(t, 'loop'), /\towner=jane, group=mx, error=exited, restarts=3\n/)
  const { isTTY } = process.stdout
  t.teardown(() => {
    process.stdout.isTTY = isTTY
    delete process.env['COLUMNS']
  })
  process.stdout.isTTY = true
  process.env['COLUMNS'] = '500'
  t.match(await status(t, 'loop'), /\terror=exited, restarts=3, owner=jane, group=mx\n/)
})

t.test('status accepts a name, a path and a version', async (t) => {
  for (const word of ['mail', './elsewhere/mail', 'mail@latest'])
    t.match(await status(t, word), /^NAME.*\nmail\tlatest\t.*\n$/)
  t.match(await status(t, 'crash', 'main'), /\ncrash\tmain\t/)
  await t.rejects(status(t, 'crash', 'v2'), {
    message: 'not found: crash@v2, available: crash@main',
  })
  await t.rejects(status(t, 'mal'), { message: 'not found: mal, did you mean mail?', status: 1 })
  await t.rejects(status(t, 'a', 'b', 'c'), { message: /^expected at most a name and a version/ })
})

t.test('-o json prints complete objects with the name of their status', async (t) => {
  t.match(JSON.parse(await status(t, '-o', 'json')), [
    { name: 'crash', status: 'error', metadata: { error: 'build failed: exit 1\nno table' } },
    { name: 'mail', status: 'running', source: 'source://mail:latest' },
  ])
  await t.rejects(status(t, '-o', 'xml'), { message: /text, json or yaml/, status: 2 })
})
