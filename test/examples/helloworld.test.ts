import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { Client } from '../../sdk/client/client.ts'
import { startMx } from '../fixtures/mx.ts'
import { openRawBackend, waitUntil } from '../fixtures/raw-backend.ts'

const MAIN = join(ROOT, 'examples/helloworld/main.ts')
/** `npm run check` checks its types. */
const CLIENT = join(ROOT, 'examples/helloworld-client.ts')
const SOURCES = join(ROOT, 'test/fixtures/tsconfig.sources.json')

/** Starts the example from its sources with the SDK of the sources, not of the last build. */
function start(t: Test, address = '127.0.0.1:0') {
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), MAIN], {
    env: {
      ...process.env,
      MX_SERVICE_ADDRESS: address,
      TSX_TSCONFIG_PATH: SOURCES,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: Record<string, unknown>[] = []
  let rest = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop()!
    for (const part of parts) lines.push(JSON.parse(part) as Record<string, unknown>)
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ready = async (): Promise<string> => {
    const find = () => lines.find(({ msg }) => msg === 'service ready')
    await waitUntil(() => find() !== undefined || child.exitCode !== null)
    return String(find()?.['address'])
  }
  return { child, lines, ended, ready }
}

t.test('serves unary calls and streams in a dozen lines, and stops gracefully', async (t) => {
  const { child, ended, ready, lines } = start(t)
  const client = new Client({ address: await ready() })
  t.teardown(() => client.close())
  t.strictSame(await client.call('helloworld', 'Helloworld.Call', { name: 'John' }), {
    message: 'Hello John',
  })
  await t.rejects(client.call('helloworld', 'Helloworld.Call', {}), {
    code: 400,
    message: 'request.name is missing',
  })
  const messages: unknown[] = []
  for await (const message of client.stream('helloworld', 'Helloworld.Stream', { count: 2 }))
    messages.push(message)
  t.strictSame(messages, [{ message: '1 of 2' }, { message: '2 of 2' }])
  t.strictSame(await client.call('helloworld', 'Debug.Health'), { status: 'ok' })
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.equal(lines.at(-1)?.['msg'], 'service stopped')
})

t.test('a TypeScript client uses the type of the service', async (t) => {
  const { ready } = start(t)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), CLIENT, await ready(), 'Ann'],
    { env: { ...process.env, TSX_TSCONFIG_PATH: SOURCES } },
  )
  t.equal(stdout, 'Hello Ann\n1 of 3\n2 of 3\n3 of 3\n')
})

t.test('is callable through the gateway immediately', async (t) => {
  const { ready } = start(t)
  const backend = `helloworld=mx://${await ready()}`
  const cwd = mkdtempSync(join(tmpdir(), 'mx-helloworld-'))
  const mx = startMx(['api', '--address', '127.0.0.1:0', '--backend', backend], { cwd })
  t.teardown(async () => {
    mx.child.kill('SIGTERM')
    await mx.ended
    rmSync(cwd, { recursive: true })
  })
  const url = await mx.url()
  const called = await fetch(`${url}/helloworld/call?name=John`)
  t.equal(called.status, 200)
  t.strictSame(await called.json(), { message: 'Hello John' })
  const posted = await fetch(`${url}/helloworld/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"name":"Ann"}',
  })
  t.strictSame(await posted.json(), { message: 'Hello Ann' })
  const streamed = await fetch(`${url}/helloworld/stream?count=2`)
  t.equal(await streamed.text(), '{"message":"1 of 2"}\n{"message":"2 of 2"}\n')
})

t.test('reports a port in use with one clear line and status 1', async (t) => {
  const { port } = await openRawBackend(t)
  const { ended, lines } = start(t, `127.0.0.1:${port}`)
  t.equal(await ended, 1)
  t.match(lines, [
    {
      service: 'helloworld',
      msg: `cannot listen on 127.0.0.1:${port}: the port is already in use`,
    },
  ])
  t.equal(lines.length, 1)
  t.notHas(lines[0], { err: {} })
})
