import { type ClientHttp2Session, connect } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { listen, listenHttp } from '../../fixtures/listen.ts'
import { type RunningMx, startMx } from '../../fixtures/mx.ts'

/** A backend whose response to `/greeter/slow` is sent by the test. */
async function startBackend(t: Test): Promise<{ node: string; answer: () => void }> {
  const pending: (() => void)[] = []
  const port = await listenHttp(t, (request, response) => {
    if (request.url?.endsWith('/slow')) pending.push(() => response.end('slow'))
    else response.end('hello')
  })
  const answer = (): void => {
    for (const end of pending.splice(0)) end()
  }
  return { node: `127.0.0.1:${port}`, answer }
}

function start(t: Test, args: readonly string[]): RunningMx {
  const mx = startMx(['api', '--handler=proxy', '--address=127.0.0.1:0', ...args], {
    cwd: t.testdir(),
  })
  t.teardown(async () => {
    if (mx.child.exitCode === null && mx.child.signalCode === null) mx.child.kill('SIGKILL')
    await mx.ended
  })
  return mx
}

function open(t: Test, url: string): ClientHttp2Session {
  const session = connect(url)
  session.on('error', () => {})
  t.teardown(() => session.destroy())
  return session
}

async function get(session: ClientHttp2Session, path: string): Promise<string> {
  const stream = session.request({ ':path': path })
  stream.setEncoding('utf8')
  return (await stream.toArray()).join('')
}

t.test('all workers share the HTTP/2 address, and a restart loses no request', async (t) => {
  const { node, answer } = await startBackend(t)
  const args = ['--workers=2', '--http2_address=127.0.0.1:0', '--backend', `greeter=${node}`]
  const mx = start(t, args)
  await mx.waitUntil(/gateway ready"/)
  const { http2 } = mx.log().find(({ msg }) => msg === 'gateway ready')!
  t.match(http2, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/, 'the assigned port')
  const url = String(http2)
  for (let i = 0; i < 4; i++) t.equal(await get(open(t, url), '/greeter/hello'), 'hello')
  const client = open(t, url)
  t.equal(await get(client, '/greeter/hello'), 'hello')
  const slow = get(client, '/greeter/slow')
  // A second request on the same connection. Once it is served, the first one is in flight.
  t.equal(await get(client, '/greeter/hello'), 'hello')
  mx.child.kill('SIGUSR2')
  await mx.waitUntil(/new workers are serving; old workers finish their requests/)
  for (let i = 0; i < 4; i++) t.equal(await get(open(t, url), '/greeter/hello'), 'hello')
  answer()
  t.equal(await slow, 'slow', 'an earlier request completes')
  mx.child.kill('SIGTERM')
  t.equal(await mx.ended, 0)
})

t.test('reports an HTTP/2 port in use before any worker starts', async (t) => {
  const server = createTcpServer()
  const port = await listen(t, server)
  const mx = start(t, [
    '--workers=2',
    `--http2_address=127.0.0.1:${port}`,
    '--backend=a=127.0.0.1:9',
  ])
  t.not(await mx.ended, 0)
  t.match(
    mx.output.stderr,
    new RegExp(`address 127\\.0\\.0\\.1:${port} is in use .* --http2_address or MX_HTTP2_ADDRESS`),
  )
})
