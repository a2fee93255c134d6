// The gateway between other proxies and a backend, with keep-alive connections on both sides.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { probePort } from '../../core/listener/probe-port.ts'
import { openApi } from '../fixtures/api.ts'
import { eventually } from '../fixtures/eventually.ts'
import { listen } from '../fixtures/listen.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { spawnTied } from '../fixtures/spawn-tied.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const UPLOAD_BYTES = 24 * 1024 * 1024
/**
 * Rate at which the backend reads an upload. The complete upload takes 3 s, and its part in socket buffers takes at
 * most 1.2 s.
 */
const READ_BYTES_PER_MS = 8 * 1024
const RESPONSE_TIMEOUT_MS = 2000

// Slow uploads take most of the time.
t.jobs = 4

interface Front {
  readonly name: string
  /** The only supported listener. @default both */
  readonly listener?: 'node'
  readonly program: 'nginx' | 'haproxy' | 'caddy'
  readonly config: (port: number, gateway: number, folder: string) => string
  readonly command: (file: string, folder: string) => readonly string[]
}

/**
 * Without `Connection ""` nginx closes each of its connections to the gateway, and without `proxy_http_version` it
 * sends HTTP/1.0. By default it buffers an upload, and sends it as fast as the gateway reads.
 */
const nginx = (options: string) => (port: number, gateway: number, folder: string) =>
  `
daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {}
http {
  access_log off; client_max_body_size 0;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  upstream gateway { server 127.0.0.1:${gateway}; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://gateway; ${options} }
  }
}`
const nginxCommand = (file: string, folder: string) => ['-p', folder, '-c', file, '-e', 'stderr']

const FRONTS: readonly Front[] = [
  {
    name: 'nginx',
    program: 'nginx',
    config: nginx('proxy_http_version 1.1; proxy_set_header Connection "";'),
    command: nginxCommand,
  },
  {
    name: 'nginx that closes its connections',
    program: 'nginx',
    config: nginx('proxy_http_version 1.1;'),
    command: nginxCommand,
  },
  {
    name: 'nginx that sends HTTP/1.0',
    listener: 'node',
    program: 'nginx',
    config: nginx(''),
    command: nginxCommand,
  },
  {
    name: 'HAProxy',
    program: 'haproxy',
    config: (port, gateway) => `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  default_backend gateway
backend gateway
  server gateway 127.0.0.1:${gateway}
`,
    command: (file) => ['-db', '-f', file],
  },
  {
    name: 'Caddy',
    program: 'caddy',
    config: (port, gateway) => `{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${gateway}
}
`,
    command: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
]

/** A backend with a file of 5 bytes, and an upload that it reads slowly. */
async function openBackend(t: Test): Promise<number> {
  const server = createServer(async (req, res) => {
    if (req.method === 'POST') {
      let bytes = 0
      const startMs = performance.now()
      // A gateway that aborts the upload closes the connection.
      req.on('error', () => {})
      for await (const chunk of req) {
        bytes += (chunk as Buffer).length
        const offsetMs = bytes / READ_BYTES_PER_MS - (performance.now() - startMs)
        if (offsetMs > 1) await wait(offsetMs)
      }
      res.end(`${bytes}`)
      return
    }
    const isKnown = req.headers['if-none-match'] === '"a"'
    if (req.url!.endsWith('/none')) res.writeHead(204).end()
    else if (req.url!.endsWith('/stream')) {
      // Chunked.
      res.write('123')
      res.end('45')
    } else if (isKnown) res.writeHead(304, { etag: '"a"' }).end()
    else res.writeHead(200, { etag: '"a"', 'content-length': 5 }).end('12345')
  })
  return listen(t, server)
}

async function openFront(t: Test, front: Front, gateway: number): Promise<number | undefined> {
  const program = skipUnless(t, front.program)
  if (program === undefined) return undefined
  const folder = makeTempFolder(t, 'front')
  const port = await probePort('127.0.0.1', 0)
  const file = join(folder, 'config')
  writeFileSync(file, front.config(port, gateway, folder))
  const { child, log } = spawnTied([program, ...front.command(file, folder)], 'stderr')
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${front.name} ended: ${log()}`)
    return fetch(`http://127.0.0.1:${port}/app/none`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return port
}

for (const listener of ['uws', 'node']) {
  for (const front of FRONTS) {
    if (listener !== (front.listener ?? listener)) continue
    t.test(`${front.name} in front of the ${listener} listener`, async (t) => {
      const backend = await openBackend(t)
      const { port: gateway } = await openApi(t, {
        MX_HANDLER: 'proxy',
        MX_LISTENER: listener,
        MX_BACKEND: `app=127.0.0.1:${backend}`,
        MX_ACCESS_LOG: 'off',
        MX_REPLY_TIMEOUT: `${RESPONSE_TIMEOUT_MS}ms`,
      })
      const port = await openFront(t, front, gateway)
      if (port === undefined) return
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.teardown(() => agent.destroy())
      const sendRequest = async (method: string, path: string, headers = {}, body?: Buffer) => {
        const sent = request({ port, method, path, headers, agent }).end(body)
        const [reply] = (await once(sent, 'response')) as [IncomingMessage]
        let text = ''
        for await (const chunk of reply.setEncoding('latin1')) text += chunk
        return { status: reply.statusCode, length: reply.headers['content-length'], text }
      }
      const file = { status: 200, length: '5' }
      for (let i = 0; i < 3; i++) {
        t.strictSame(await sendRequest('HEAD', '/app/file'), { ...file, text: '' })
        const known = await sendRequest('GET', '/app/file', { 'if-none-match': '"a"' })
        t.strictSame(known, { status: 304, length: undefined, text: '' })
        t.strictSame(await sendRequest('GET', '/app/none'), {
          status: 204,
          length: undefined,
          text: '',
        })
        t.strictSame(await sendRequest('GET', '/app/file'), { ...file, text: '12345' })
        const stream = { status: 200, length: undefined, text: '12345' }
        t.strictSame(await sendRequest('GET', '/app/stream'), stream)
      }
      const upload = await sendRequest('POST', '/app/upload', {}, Buffer.alloc(UPLOAD_BYTES))
      t.match(upload, { status: 200, text: `${UPLOAD_BYTES}` })
    })
  }
}

/**
 * Runs in another process: prints its port, and closes idle connections after a time that it does not announce
 * (`Keep-Alive`). Responses are delayed, so that each request of a round has its own connection.
 */
function serveBriefly(idleMs: number, replyAfterMs: number): void {
  const { createServer } = process.getBuiltinModule('node:http')
  // The timeout of node:http is a second longer than its option.
  const server = createServer({ keepAliveTimeout: 0 })
  const idle = new Map<unknown, NodeJS.Timeout>()
  server.on('request', (req, res) => {
    const { socket } = req
    clearTimeout(idle.get(socket))
    res.on('finish', () =>
      idle.set(
        socket,
        setTimeout(() => socket.destroy(), idleMs),
      ),
    )
    req.resume().on('end', () => setTimeout(() => res.end('ok'), replyAfterMs))
  })
  server.listen(0, '127.0.0.1', () =>
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
  )
}

const IDLE_LIMIT_MS = 600
const CONNECTIONS = 200
const SPREAD_MS = 40

/** Sends rounds of POSTs around the unannounced idle limit of a backend, which the gateway has observed once. */
async function postAtIdleLimit(t: Test, listener: string, front?: Front): Promise<void> {
  // In a separate process, because only there its closes race with requests.
  const { child, log } = spawnTied(
    [process.execPath, '-e', `(${serveBriefly})(${IDLE_LIMIT_MS}, ${SPREAD_MS})`],
    'stdout',
  )
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await eventually(async () => log().endsWith('\n'))
  const backend = Number(log())
  const { port: gateway } = await openApi(t, {
    MX_HANDLER: 'proxy',
    MX_LISTENER: listener,
    MX_BACKEND: `app=127.0.0.1:${backend}`,
    MX_ACCESS_LOG: 'off',
  })
  const port = front === undefined ? gateway : await openFront(t, front, gateway)
  if (port === undefined) return
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  t.teardown(() => agent.destroy())
  const post = async (delayMs: number): Promise<number> => {
    await wait(delayMs)
    const headers = { 'content-length': 4 }
    const sent = request({ port, method: 'POST', path: '/app', headers, agent }).end('body')
    const [reply] = (await once(sent, 'response')) as [IncomingMessage]
    await reply.resume().toArray()
    return reply.statusCode!
  }
  const postRound = () =>
    Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => post(i % SPREAD_MS)))
  await postRound()
  // The backend closes these connections. A busy backend may close a connection whose next request it has not read yet.
  await wait(2 * IDLE_LIMIT_MS)
  const statuses: number[] = []
  for (let round = 0; round < 10; round++) {
    statuses.push(...(await postRound()))
    // Aligns the next round with the limit.
    await wait(IDLE_LIMIT_MS - SPREAD_MS)
  }
  t.equal(statuses.length, 2000)
  t.equal(statuses.filter((status) => status !== 200).length, 0)
}

const KEEP_ALIVE_FRONTS = FRONTS.filter(({ name }) => /^(?:nginx|HAProxy|Caddy)$/i.test(name))
const COMBINATIONS: readonly (readonly [listener: string, front?: Front])[] = [
  ['uws'],
  ['node'],
  ...KEEP_ALIVE_FRONTS.map((front) => ['uws', front] as const),
]
for (const [listener, front] of COMBINATIONS) {
  const frontName = front === undefined ? '' : `, behind ${front.name}`
  t.test(
    `loses no POST at the known idle limit of a backend: listener ${listener}${frontName}`,
    (t) => postAtIdleLimit(t, listener, front),
  )
}
