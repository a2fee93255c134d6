import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { eventually } from '../fixtures/eventually.ts'
import { listenHttp } from '../fixtures/listen.ts'
import { startMx } from '../fixtures/mx.ts'
import { findPorts } from '../fixtures/ports.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { spawnTied } from '../fixtures/spawn-tied.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(110_000)

const GUIDE = readFileSync(join(ROOT, 'docs/migrate.md'), 'utf8')

interface Request {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Path that the backend receives. @default `path` */
  readonly forwarded?: string
  /** The backend that serves it, as the port in the guide, or the status of an error. */
  readonly result: 9001 | 9002 | number
}

/** Requests of each section, in its order. */
const REQUESTS: Readonly<Record<string, readonly Request[]>> = {
  'From nginx `proxy_pass`': [
    { path: '/users/7?a=b', result: 9001 },
    { path: '/orders/', result: 9002 },
    { path: '/v1/orders/8?c', result: 9002, forwarded: '/8?c' },
    { path: '/old', result: 308 },
    { path: '/nothing', result: 404 },
  ],
  'From Express or Fastify behind nginx': [
    { path: '/shop/cart', headers: { 'x-customer': 'ann' }, result: 9001 },
  ],
  'From Traefik': [
    { path: '/cart', headers: { host: 'shop.example.com' }, result: 9001 },
    { path: '/api/', headers: { host: 'blog.example.com' }, result: 9002, forwarded: '/' },
    { path: '/other', headers: { host: 'blog.example.com' }, result: 404 },
  ],
  'From Kong': [
    { path: '/users/7', headers: { apikey: 'a-long-random-key' }, result: 9001 },
    { path: '/v2/7', headers: { apikey: 'a-long-random-key' }, result: 9001, forwarded: '/7' },
    { path: '/users/7', headers: { apikey: 'another' }, result: 401 },
  ],
  'From go-micro or micro': [{ path: '/greeter/say/hello', result: 9001 }],
}

for (const section of GUIDE.split(/^## /m).slice(1)) {
  const [name = ''] = section.split('\n')
  const requests = REQUESTS[name] ?? []
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)]
  const find = (language: string, start: string): string | undefined =>
    blocks.find(([, input, code]) => input === language && code!.startsWith(start))?.[2]

  t.test(`${name}: mx serves the requests of the other gateway`, async (t) => {
    const ports = await openPorts(t)
    const folder = makeTempFolder(t, 'migrate')
    writeFileSync(join(folder, 'mx.yaml'), withPorts(find('yaml', '# mx.yaml')!, ports))
    const plugin = find('ts', 'import')
    if (plugin !== undefined) writeFileSync(join(folder, 'customer.ts'), plugin)
    const mx = startMx(['api'], { cwd: folder })
    t.teardown(() => mx.child.kill('SIGKILL'))
    await mx.url()
    t.ok(requests.length > 0)
    for (const request of requests) await checkRequest(t, ports, request)
    if (plugin !== undefined) await checkRequest(t, ports, { path: '/shop/cart', result: 401 })
  })

  const nginx = find('nginx', '')
  if (nginx === undefined) continue
  t.test(
    `${name}: nginx serves the same requests with the configuration of the guide`,
    async (t) => {
      const program = skipUnless(t, 'nginx')
      if (program === undefined) return
      const ports = await openPorts(t)
      const folder = makeTempFolder(t, 'nginx')
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      const temporary = paths.map((path) => `${path}_temp_path ${folder}/${path};`).join(' ')
      const file = join(folder, 'nginx.conf')
      writeFileSync(
        file,
        `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${temporary}
${withPorts(nginx, ports)}}`,
      )
      const { child } = spawnTied([program, '-p', folder, '-c', file, '-e', 'stderr'], 'stderr')
      t.teardown(async () => {
        child.kill('SIGKILL')
        await once(child, 'close')
      })
      const isReady = () =>
        send(ports, { path: '/', result: 404 }).then(
          () => true,
          () => false,
        )
      await eventually(isReady)
      for (const request of requests) await checkRequest(t, ports, request)
    },
  )
}

/** Maps ports of the guide to ports of this run: two backends that echo requests, and a free port. */
async function openPorts(t: Test): Promise<ReadonlyMap<number, number>> {
  const ports = new Map<number, number>([[8080, (await findPorts(1))[0]!]])
  for (const guidePort of [9001, 9002]) {
    const port = await listenHttp(t, ({ url, headers }, res) => {
      res.end(JSON.stringify({ guidePort, url, headers }))
    })
    ports.set(guidePort, port)
  }
  return ports
}

function withPorts(config: string, ports: ReadonlyMap<number, number>): string {
  return config.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => String(ports.get(Number(port))))
}

interface Received {
  readonly guidePort: number
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

async function send(
  ports: ReadonlyMap<number, number>,
  { path, headers = {} }: Request,
): Promise<{ status: number; received: Received | undefined }> {
  const request = get({ host: '127.0.0.1', port: ports.get(8080), path, headers, agent: false })
  const [response] = await once(request, 'response')
  if (response.statusCode === 200)
    return { status: 200, received: (await json(response)) as Received }
  await text(response)
  return { status: response.statusCode, received: undefined }
}

async function checkRequest(
  t: Test,
  ports: ReadonlyMap<number, number>,
  request: Request,
): Promise<void> {
  const { status, received } = await send(ports, request)
  if (request.result < 1000) return void t.equal(status, request.result, request.path)
  t.match(received, { guidePort: request.result, url: request.forwarded ?? request.path })
  t.match(received?.headers, { 'x-forwarded-for': '127.0.0.1' })
}
