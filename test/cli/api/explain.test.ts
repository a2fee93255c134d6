import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runExplain } from '../../../cli/api/explain.ts'
import { openCliServer } from '../../fixtures/cli-server.ts'
import { runMx } from '../../fixtures/mx.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const CONFIG = `
handler: proxy
services:
  greeter:
    - 127.0.0.1:9001
    - 127.0.0.1:9002
  old: mx://127.0.0.1:9003
`

/** Returns the JSON output of `mx api explain`. */
async function explain(t: Test, args: readonly string[], env = {}, config = CONFIG) {
  const cwd = makeTempFolder(t, 'explain')
  if (config !== '') writeFileSync(join(cwd, 'mx.yaml'), config)
  const options = { cwd, env: { HOME: cwd, ...env } }
  const { code, stdout, stderr } = await runMx(['api', 'explain', ...args, '-o', 'json'], options)
  t.same([code, stderr], [0, ''])
  return JSON.parse(stdout)
}

t.test('mx api explain prints route, handler, plugins and target node of a request', async (t) => {
  const result = await explain(t, ['GET', '/greeter/hello?a=1'])
  t.match(result, {
    namespace: 'go.mx.api',
    route: { service: 'go.mx.api.greeter', endpoint: '' },
    handler: 'proxy',
    nodes: [{ address: '127.0.0.1:9001', protocol: 'http' }, { address: '127.0.0.1:9002' }],
    sentTo: result.nodes[0].id,
  })
  t.notOk(result.answer)
  t.same(
    result.stages.filter(({ hook }: { hook: string }) => hook === 'route' || hook === 'handle')
      .length,
    2,
  )
})

t.test('returns 404 with a similar name for an unknown service', async (t) => {
  t.match(await explain(t, ['/greter/hello']), {
    answer: { status: 404, Detail: 'service not found: go.mx.api.greter' },
    why: /^did you mean go\.mx\.api\.greeter\?/,
  })
})

t.test('a rejection names the plugin and hook', async (t) => {
  const config = `${CONFIG}plugins:\n  - namespace\n  - body-limit: { limit: 3 }\n`
  t.match(await explain(t, ['POST', '/greeter/hello', '-d', '12345'], {}, config), {
    answer: { status: 413 },
    why: 'plugin body-limit (onRequest) rejected the request',
  })
})

const ROUTES = `
handler: proxy
plugins: [namespace, headers: { reply: { set: { a: "1" } } }]
services:
  shop:
    nodes: [127.0.0.1:9001]
    plugins: [body-limit: { limit: 3 }]
routes:
  - name: shop-api
    match: { host: shop.example.com, path: /api/** }
    service: shop
    strip_prefix: /api
    plugins:
      - headers: { request: { set: { b: "2" } } }
  - match: { path: /old }
    redirect: { scheme: https }
`

t.test(
  'plugins of services and routes have their scope and line, and a URL sets host and scheme',
  async (t) => {
    const result = await explain(t, ['http://shop.example.com/api/x?a=1'], {}, ROUTES)
    t.match(result, { routeName: 'shop-api', target: '/x?a=1' })
    const find = (name: string) =>
      result.stages.find(({ plugin }: { plugin: string }) => plugin === name)
    t.match(find('namespace'), { scope: 'gateway', source: /mx\.yaml:3:11$/ })
    t.match(find('body-limit'), { scope: 'service', source: /mx\.yaml:7:15$/ })
    t.match(find('headers'), { scope: 'route', source: /mx\.yaml:14:9$/ })
    const cwd = makeTempFolder(t, 'explain')
    writeFileSync(join(cwd, 'mx.yaml'), ROUTES)
    const { stdout } = await runMx(['api', 'explain', 'http://shop.example.com/api/x'], { cwd })
    t.match(stdout, /\n {2}plugins .*body-limit \(service, mx\.yaml:7:15\), .*headers \(route, mx/)
    t.match(stdout, /\n {2}route +shop-api: go\.mx\.api\.shop\n {2}target +\/x\n/)
    for (const [url, status] of [
      ['http://shop.example.com/old', 308],
      ['https://shop.example.com/old', 308],
      ['https://shop.example.com', 200],
    ] as const)
      t.match(await explain(t, [url], {}, ROUTES), { answer: { status } })
  },
)

t.test('a WebSocket request is sent to a node, an event to a topic', async (t) => {
  const socket = await explain(t, ['/greeter/x', '-H', 'Upgrade: websocket', '--handler=web'])
  t.equal(socket.sentTo, socket.nodes[0].id)
  const event = await explain(t, ['POST', '/user/created', '--handler=event'])
  t.match(event, { sentTo: 'topic', route: { service: 'go.mx.api.user', endpoint: 'created' } })
})

t.test('--server explains with the settings, registry and rules of the server', async (t) => {
  const { run, post, url, token } = await openCliServer(t, [
    '--max_body=1kb',
    '--backend=greeter=127.0.0.1:9001',
  ])
  const at = async (...args: string[]) =>
    JSON.parse(await run({ run: () => runExplain([...args, '--server', '-o', 'json']) }))
  t.match(await at('GET', '/registry/listServices'), {
    route: { service: 'registry', endpoint: 'Registry.ListServices' },
    handler: String,
    rulings: [
      {
        granted: true,
        rule: { id: 'default' },
        resource: 'service:registry:Registry.ListServices',
      },
    ],
    sentTo: String,
  })
  t.match(await at('/registry/nothing'), {
    answer: { status: 404, Detail: 'endpoint not found: registry.Registry.Nothing' },
    why: /^the service declares .*Registry\.ListServices/,
  })
  const greeter = await at('/greeter/hello')
  t.match(
    greeter,
    { nodes: [{ address: '127.0.0.1:9001' }], answer: undefined },
    'a backend of the server settings',
  )
  const body = 'x'.repeat(2000)
  t.match(await at('POST', '/greeter/hello', '-d', body), { answer: { status: 413 } })
  const { status } = await fetch(`${url}/greeter/hello`, { method: 'POST', body })
  t.equal(status, 413)
  const rule = {
    ...{ id: 'closed', scope: '', access: 'DENIED', priority: 10 },
    resource: { type: 'service', name: 'store', endpoint: '*' },
  }
  t.equal((await post('/auth/rules/create', { rule })).status, 200)
  t.match(await at('/store/list'), {
    rulings: [{ granted: false, rule: { id: 'closed' } }],
    answer: { status: 401, Status: 'Unauthorized' },
    why: /^rule closed denies it to anonymous callers: authenticate/,
  })
  t.match(await at('/store/list', '-H', `authorization: Bearer ${token}`), { account: 'admin' })
  await t.rejects(at('/x', '--max_body=5kb'), {
    message: /^--server uses the settings of the server and cannot be combined with --max_body=5kb/,
    status: 2,
  })
})

t.test('prints text by default, and rejects malformed arguments with status 2', async (t) => {
  const cwd = makeTempFolder(t, 'explain')
  writeFileSync(join(cwd, 'mx.yaml'), CONFIG)
  const run = (...args: string[]) => runMx(['api', 'explain', ...args], { cwd })
  const { stdout } = await run('GET', '/greeter/hello')
  t.match(stdout, /^GET \/greeter\/hello\n {2}plugins +request-id/)
  t.match(stdout, /\n {2}handler +proxy\n/)
  t.match(stdout, /\n {2}nodes +127\.0\.0\.1:9001 \(http\) next, 127\.0\.0\.1:9002 \(http\)\n/)
  t.match(await run(), { code: 2, stderr: /^mx: expected a method and a path/ })
  t.match(await run('/x', '-H', 'bad'), {
    code: 2,
    stderr: /^mx: --header must be "name: value"/,
  })
  t.match(await run('/x', '--adress=1'), { code: 2, stderr: /did you mean --address/ })
})

t.test('mx api explain --help describes its own flags', async (t) => {
  const { stdout } = await runMx(['api', 'explain', '--help'], {
    cwd: makeTempFolder(t, 'explain'),
  })
  t.match(stdout, /^ {2}-H, --header <name: value> +Header of the request; repeatable$/m)
  t.match(stdout, /^ {2}--on <listener> +Listener that receives the request/m)
  t.match(stdout, /^ {2}--client <ip> +IP address of the client/m)
  t.notMatch(stdout, '--if_match')
  t.match(stdout, "\nFlags of mx api: see 'mx api --help'\n")
})
