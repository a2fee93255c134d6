import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import t, { type Test } from 'tap'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { listen } from '../../../fixtures/listen.ts'
import { toMxArgs } from '../../../fixtures/programs.ts'

/** Runs `mx bench` with `args` until it exits. */
function runBench(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const words = toMxArgs('bench', ...args)
    const child = execFile(process.execPath, words, (_error, stdout, stderr) => {
      resolve({ status: child.exitCode ?? -1, stdout, stderr })
    })
  })
}

async function serve(
  t: Test,
  onRequest: RequestListener,
  server: Server = createServer(),
): Promise<string> {
  server.on('request', onRequest)
  return `127.0.0.1:${await listen(t, server)}`
}

t.test(
  'mx bench prints throughput, latency, statuses, errors and the share of gateway and backend',
  async (t) => {
    const address = await serve(t, (_request, response) => {
      response.setHeader('server-timing', 'gateway;dur=0.01, upstream;dur=0.02')
      response.end('hello')
    })
    const { status, stdout, stderr } = await runBench(
      '/greeter',
      '--address',
      address,
      '--connections',
      '2',
      '--duration',
      '300ms',
    )
    t.equal(status, 0)
    t.equal(stderr, '', 'no progress line without a terminal')
    t.match(stdout, `GET http://${address}/greeter\n2 connections, 0.3 s, closed loop`)
    t.match(stdout, /^throughput +[\d ]+ requests\/s, /m)
    t.match(stdout, /^latency +p50 [\d.]+ ms {3}p90 .* {3}p99 .* {3}p99\.9 .* {3}max /m)
    t.match(stdout, /^statuses +200: \d/m)
    t.match(stdout, /^errors +none$/m)
    t.match(stdout, /^breakdown +gateway 0\.010 ms \((?:< 1|\d+) %\) {3}upstream 0\.020 ms /m)
    t.match(stdout, 'use --rate')
  },
)

t.test('mx bench sends the requested method, headers and body at the requested rate', async (t) => {
  const received: string[] = []
  const address = await serve(t, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push(`${request.method} ${request.url} ${request.headers['x-a']} ${body}`)
    response.writeHead(503).end()
  })
  const flags = [
    '--header',
    'x-a: b',
    '--body',
    '007',
    '--rate',
    '100',
    '--duration',
    '200ms',
    '-o',
    'json',
  ]
  const { status, stdout } = await runBench('PUT', `http://${address}/x?y=z`, ...flags)
  t.equal(status, 1, 'no request succeeded')
  t.equal(received.length, 20)
  t.same([...new Set(received)], ['PUT /x?y=z b 007'])
  t.match(JSON.parse(stdout), {
    method: 'PUT',
    rate: 100,
    sent: 20,
    replies: 20,
    statuses: { 503: 20 },
    overdue: 0,
    interrupted: false,
  })
})

t.test('mx bench connects to a gateway with a self-signed certificate', async (t) => {
  const server = createTlsServer(createCertificate(['127.0.0.1']))
  const address = await serve(
    t,
    (_request, response) => response.end('x'.repeat(100_000)),
    server as unknown as Server,
  )
  const { status, stdout } = await runBench(
    `https://${address}/x`,
    '--connections',
    '2',
    '--duration',
    '300ms',
    '--output=json',
  )
  t.equal(status, 0)
  const result = JSON.parse(stdout)
  t.ok(result.replies > 2)
  t.equal(result.replies, result.sent)
  t.ok(result.bytesIn > result.replies * 100_000)
})

t.test('Ctrl-C stops mx bench, which prints the results so far', async (t) => {
  const address = await serve(t, onRequest)
  const words = ['bench', '/x', '--address', address, '--duration', '1d', '--rate', '100']
  const child = spawn(process.execPath, toMxArgs(...words))
  t.teardown(() => child.kill('SIGKILL'))
  let served = 0
  function onRequest(_request: unknown, response: { end: () => unknown }): void {
    response.end()
    if (++served === 10) child.kill('SIGINT')
  }
  let stdout = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const [status] = await once(child, 'close')
  t.equal(status, 0)
  t.match(stdout, /\(stopped early\), open loop at 100 requests\/s/)
  t.match(stdout, /^statuses +200: \d+$/m)
})

t.test('an unreachable gateway is a one-line error with exit status 1', async (t) => {
  const server = createServer()
  const address = await serve(t, () => {}, server)
  server.close()
  const { status, stdout, stderr } = await runBench('/x', '--address', address)
  t.equal(status, 1)
  t.equal(stdout, '')
  t.equal(stderr, `mx: cannot connect to http://${address}/x: connect ECONNREFUSED ${address}\n`)
})

t.test('invalid flags, values and URLs exit 2 and are named', async (t) => {
  const invalid: [string[], RegExp][] = [
    [['/x', '--rate', 'fast'], /--rate must be a number from .*"fast".*mx bench --help/],
    [['greeter'], /path such as \/greeter\/hello or an http or https URL/],
    [['/x', '--speed', '9'], /speed/],
    [[], /request|path or URL/],
  ]
  await Promise.all(
    invalid.map(async ([args, message]) => {
      const { status, stderr } = await runBench(...args)
      t.equal(status, 2, args.join(' '))
      t.match(stderr, message)
    }),
  )
})

t.test('mx bench exits 1 if no response was successful', async (t) => {
  const address = await serve(t, (_request, response) => response.writeHead(404).end())
  const { status, stdout, stderr } = await runBench(
    '/missing',
    ...['--address', address, '--connections=1', '--duration=100ms'],
  )
  t.equal(status, 1)
  t.match(stdout, /^statuses +404: \d/m)
  t.equal(stderr, 'mx: no request succeeded\n')
})
