// Specification, "What the service does": the server as a separate process.
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BUILT_IN_SERVICES } from '../../platform/server/built-in/services.ts'
import { createConfig } from '../../sdk/config/config.ts'
import { createEvents } from '../../sdk/events/events.ts'
import { createStore } from '../../sdk/store/store.ts'
import { waitUntil } from '../contracts/registry.ts'
import { listen } from '../fixtures/listen.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { launchServer, type ServerProcess, startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const NAMES = BUILT_IN_SERVICES.map(({ name }) => name)
const getMode = (path: string): string => (statSync(path).mode & 0o777).toString(8)

async function get(url: string): Promise<{ status: number; body: unknown }> {
  const reply = await fetch(url)
  return { status: reply.status, body: await reply.json() }
}

/** Output and status of a failed start. */
async function fail(
  t: Test,
  words: readonly string[],
  options: { home?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; stderr: string }> {
  const { ended, output } = launchServer(t, words, options)
  return { code: await ended, stderr: output.stderr }
}

t.test('needs only an empty home folder', async (t) => {
  const home = makeTempFolder(t, 'home')
  const { gateway, proxy, auth, dashboard, log } = await startServerProcess(t, [], { home })
  // The isolation warning may be logged at any time.
  const lines = log().filter(
    ({ msg }) => !/^programs started by mx run are (not )?isolated/.test(String(msg)),
  )
  t.match(lines, [{ profile: 'local', state: join(home, '.mx/server'), services: NAMES }])
  t.equal(lines.length, 1, 'no other output')
  t.match(await get(`${gateway}/`), { status: 200, body: { version: /^\d+\.\d+\.\d+$/ } })
  const page = await fetch(`${dashboard}/`)
  t.match(await page.text(), '<title>mx')

  const client = openClient(t, { proxy, auth })
  for (const name of NAMES) {
    t.match(await get(`${gateway}/${name}/debug/health`), { body: { status: 'ok' } }, name)
    t.same(await client.call(name, 'Debug.Health'), { status: 'ok' }, `${name}: RPC proxy`)
    const plainResponse = await fetch(`http://${proxy}/`, {
      method: 'POST',
      headers: {
        'mx-service': name,
        'mx-endpoint': 'Debug.Health',
        'content-type': 'application/json',
      },
      body: '{}',
    })
    t.same(await plainResponse.json(), { status: 'ok' }, `${name}: RPC proxy, HTTP transport`)
  }
  t.same(readdirSync(join(home, '.mx')).sort(), [
    'admin_password',
    'config_secret_key',
    'server',
    'service_credentials',
  ])
  for (const path of ['.mx', '.mx/server', '.mx/server/store', '.mx/server/events'])
    t.equal(getMode(join(home, path)), '700', path)
  const secret = ['admin_password', 'config_secret_key', 'service_credentials']
  for (const path of [...secret, 'server/store/data.mdb', 'server/events/data.mdb'])
    t.equal(getMode(join(home, '.mx', path)), '600', path)
})

t.test('retains acknowledged writes after SIGKILL under load', async (t) => {
  const home = makeTempFolder(t, 'home')
  const records = new Set<string>()
  const events = new Set<string>()
  let settings = 0
  for (let round = 0; round < 3; round++) {
    const server = await startServerProcess(t, [], { home })
    const client = openClient(t, { proxy: server.proxy, auth: server.auth, retries: 0 })
    const store = createStore(client, { table: 'kill' })
    const stream = createEvents(client)
    const config = createConfig(client)
    if (round > 0) {
      const actual = new Set(await store.list())
      t.same(
        [...records].filter((key) => !actual.has(key)),
        [],
        `${records.size} records`,
      )
      const storedIds = new Set((await stream.read('kill', { limit: 100_000 })).map(({ id }) => id))
      t.same(
        [...events].filter((id) => !storedIds.has(id)),
        [],
        `${events.size} events`,
      )
      const count = (await config.get('kill.count')).int(0)
      t.ok(count >= settings, `${settings} changes of the configuration`)
      t.equal((await config.get('kill.secret', { secret: true })).string(''), 's3cret')
    }
    await config.set('kill.secret', 's3cret', { secret: true })
    const work = async (writer: number): Promise<void> => {
      for (let n = 0; ; n++) {
        const key = `${round}/${writer}/${n}`
        await store.write(key, key)
        records.add(key)
        const { id } = await stream.publish('kill', { key })
        events.add(id)
      }
    }
    const change = async (): Promise<void> => {
      for (let n = settings + 1; ; n++) {
        await config.set('kill.count', n)
        settings = n
      }
    }
    const writes = Promise.allSettled([change(), ...Array.from({ length: 20 }, (_, i) => work(i))])
    const before = records.size
    await waitUntil(() => records.size > before + 200, 30_000)
    await server.kill()
    await writes
  }
  t.comment(`${records.size} records, ${events.size} events, ${settings} changes acknowledged`)
})

t.test('redelivers unacknowledged events to a group after SIGKILL', async (t) => {
  const home = makeTempFolder(t, 'home')
  const first = await startServerProcess(t, [], { home })
  const takeNumbers = async ({ proxy, auth }: ServerProcess, last: number): Promise<number[]> => {
    const client = openClient(t, { proxy, auth })
    const channel = createEvents(client).consume('orders', {
      group: 'billing',
      offset: 1,
      autoAck: false,
      ackWaitMs: 60_000,
    })
    const blocker: number[] = []
    for await (const event of channel) {
      blocker.push(event.sequence)
      await event.ack()
      if (event.sequence === last) break
    }
    return blocker
  }
  const publishing = createEvents(openClient(t, { proxy: first.proxy, auth: first.auth }))
  for (let n = 1; n <= 10; n++) await publishing.publish('orders', { n })
  t.same(await takeNumbers(first, 4), [1, 2, 3, 4])
  await first.kill()
  const second = await startServerProcess(t, [], { home })
  const repeated = await takeNumbers(second, 10)
  t.ok(repeated[0]! <= 5, 'acknowledgements in flight may be lost, but events are not')
  t.same(repeated, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].slice(repeated[0]! - 1))
})

t.test('rejects a second server in a folder, and the first one continues', async (t) => {
  const home = makeTempFolder(t, 'home')
  const first = await startServerProcess(t, [], { home })
  const { code, stderr } = await fail(t, [], { home })
  t.equal(
    stderr,
    `mx: ${home}/.mx/server is in use by another mx server (process ${first.child.pid}): stop it, or set another folder with --data_dir or MX_DATA_DIR\n`,
  )
  t.equal(code, 1)
  const headers = { authorization: `Bearer ${first.token}` }
  t.equal((await fetch(`${first.gateway}/store/databases`, { headers })).status, 200)
  await first.kill()
  const launches = Array.from({ length: 3 }, () => launchServer(t, [], { home }))
  const results = await Promise.all(
    launches.map(({ waitUntil, output }) =>
      waitUntil(/server ready"/).then(
        () => 'ready',
        () => output.stderr,
      ),
    ),
  )
  t.equal(results.filter((result) => result === 'ready').length, 1)
  t.equal(results.filter((result) => /is in use by another mx server/.test(result)).length, 2)
})

t.test('uses the same default folder and the files next to it by its full path', async (t) => {
  const home = makeTempFolder(t, 'home')
  const first = await startServerProcess(t, [], { home })
  const headers = { authorization: `Bearer ${first.token}` }
  const path = 'path=a.b&value.data="x"&options.secret=true'
  t.equal((await fetch(`${first.gateway}/config/set?${path}`, { headers })).status, 200)
  await first.kill()
  // The server does not start without the secret key.
  await launchServer(t, [`--data_dir=${home}/.mx/server`], { home }).waitUntil(/server ready"/)
  t.notOk(readdirSync(`${home}/.mx/server`).includes('config_secret_key'))
})

t.test(
  'fails with a one-line message and status 1 if a resource is unavailable, and leaves nothing behind',
  async (t) => {
    const blocker = createServer()
    const port = await listen(t, blocker)
    for (const setting of ['address', 'proxy_address', 'web_address']) {
      const home = makeTempFolder(t, 'home')
      const { code, stderr } = await fail(t, [`--${setting}=127.0.0.1:${port}`], { home })
      t.equal(
        stderr,
        `mx: address 127.0.0.1:${port} is in use by another program; choose another with --${setting} or MX_${setting.toUpperCase()}\n`,
      )
      t.equal(code, 1)
      t.same(readdirSync(home), [], setting)
    }
    const shared = makeTempFolder(t, 'home')
    chmodSync(shared, 0o777)
    t.match(await fail(t, [`--data_dir=${shared}`]), {
      code: 1,
      stderr: `mx: the data folder ${shared} is writable by others (mode 777): run chmod 700, or set another with --data_dir\n`,
    })
    t.match(await fail(t, ['--profile=cluster', '--broker=memory', '--events=memory']), {
      code: 1,
      stderr: /^mx: the registry consul:\/\/127\.0\.0\.1:8500 is not available: [^\n]*\n$/,
    })
  },
)

t.test('fails immediately with status 2 for invalid usage', async (t) => {
  const { code, stderr } = await fail(t, ['--profil=test', '--workers=2', '--store=redis://a:1'], {
    env: { MX_REGISTRY: 'mx://127.0.0.1:8081' },
  })
  t.equal(code, 2)
  t.equal(
    stderr,
    [
      "mx: unknown flag --profil, did you mean --profile? See 'mx server --help'",
      "mx: unknown flag --workers: it is a setting of mx api, not of mx server. See 'mx server --help'",
      'mx: --store must be memory, lmdb (a file) or postgres://user@host:port/database, got "redis://a:1"',
      '',
    ].join('\n'),
  )
  t.match(await fail(t, ['--profile=locl']), {
    code: 2,
    stderr:
      'mx: --profile must be one of local, test, cluster, kubernetes, got "locl", did you mean local?\n',
  })
  const { stderr: warned } = await fail(t, ['--plugin=./none.ts'], { env: { MX_STORRE: 'memory' } })
  t.match(warned, 'unknown variable MX_STORRE, did you mean MX_STORE?')
})
