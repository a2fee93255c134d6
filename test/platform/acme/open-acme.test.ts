import { randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createPostgresStore } from '../../../adapters/store/postgres.ts'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import { type Acme, type AcmeOptions, openAcme } from '../../../platform/acme/open-acme.ts'
import { ACME_TABLE, toOrderKey, toScope } from '../../../platform/acme/records.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'
import { makeSecretKey, parseSecretKey } from '../../../services/config/secrets/secret-key.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { listen, listenHttp } from '../../fixtures/listen.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { type Pebble, startPebble } from '../../fixtures/pebble.ts'
import { startPostgres } from '../../fixtures/postgres.ts'

const HOUR_MS = 3600 * 1000
const YEAR_MS = 365 * 24 * HOUR_MS

interface LogLine {
  readonly level: number
  readonly msg: string
  readonly host?: string
  readonly reason?: string
  readonly failures?: number
}

interface OpenGateway {
  readonly acme: Acme
  readonly lines: LogLine[]
  readonly names: () => readonly string[]
}

/** The certificate management of a gateway. */
async function openGateway(
  t: Test,
  pebble: Pebble,
  store: Store,
  args: readonly string[],
  options: Partial<AcmeOptions> & { readonly at?: string } = {},
): Promise<OpenGateway> {
  const { at = '127.0.0.1', ...rest } = options
  const lines: LogLine[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const flags = readFlags([
    '--enable_acme',
    `--acme_directory=${pebble.directory}`,
    `--acme_ca_file=${pebble.caFile}`,
    `--acme_address=${at}:${pebble.httpPort}`,
    '--address=:443',
    ...args,
  ])
  const acme = await openAcme({
    ...{ settings: mergeSettings(flags), store, secretKeys: [], log },
    ...{ pollMs: 10, random: () => 0, checkMs: 20, ...rest },
    ...(rest.nowMs && { elapsedMs: rest.nowMs }),
  })
  t.teardown(acme.close)
  return { acme, lines, names: () => acme.pairs.flatMap(({ names }) => names) }
}

function openMemory(t: Test): Store {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  return store
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5)
}

/** Serial number of the certificate served for a name if `root` issued it, otherwise the reason. */
async function getSerial(port: number, servername: string, root: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', servername, ca: root })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()!.serialNumber
  } catch (error) {
    return (error as NodeJS.ErrnoException).code!
  } finally {
    socket.destroy()
  }
}

function getIssuedSerial({ acme }: OpenGateway, host: string): string {
  return new X509Certificate(acme.pairs.find(({ names }) => names.includes(host))!.cert)
    .serialNumber
}

async function getPlain(port: number, host: string, path: string, method = 'GET') {
  const req = request({ host: '127.0.0.1', port, path, method, headers: { host } }).end()
  const [res] = await once(req, 'response')
  res.resume()
  return { status: res.statusCode as number, location: res.headers.location as string | undefined }
}

/** Pebble logs each order once. */
function countOrders(pebble: Pebble): number {
  return pebble.count(/Added order "/)
}

t.test('certificates of a Pebble server that rejects every second nonce', async (t) => {
  /** Ports by host; other hosts are unreachable. */
  const places = new Map<string, string>()
  const pebble = await startPebble(t, { locate: (host) => places.get(host) ?? '127.0.0.1' })
  if (pebble === undefined) return
  let root = await pebble.readRoot()

  await t.test('are issued and renewed while both listeners serve', async (t) => {
    let offsetMs = 0
    const store = openMemory(t)
    const args = ['--acme_hosts=a.test,b.test', '--acme_email=admin@a.test']
    const options = { nowMs: () => Date.now() + offsetMs }
    const gateway = await openGateway(t, pebble, store, args, options)
    const { acme, lines, names } = gateway
    const listeners = await Promise.all(
      [createNodeListener, createUwsListener].map((create) =>
        openListener(t, create, (x) => x.reply(200, 'ok'), { tls: acme }),
      ),
    )
    await waitUntil(() => names().length === 2)
    t.same(names(), ['a.test', 'b.test'], 'the first listed host is the default')
    for (const { port } of listeners) {
      t.equal(await getSerial(port, 'a.test', root), getIssuedSerial(gateway, 'a.test'))
      t.equal(await getSerial(port, 'b.test', root), getIssuedSerial(gateway, 'b.test'))
      t.equal(await getSerial(port, 'c.test', root), 'ERR_TLS_CERT_ALTNAME_INVALID')
    }
    const orders = countOrders(pebble)
    await acme.work()
    t.equal(countOrders(pebble), orders, 'a fresh certificate is not renewed')

    const before = getIssuedSerial(gateway, 'a.test')
    // Certificates of the test are valid for five years.
    offsetMs += 3 * YEAR_MS
    await acme.work()
    t.equal(getIssuedSerial(gateway, 'a.test'), before, 'before two thirds of the lifetime')
    offsetMs += YEAR_MS
    await waitUntil(() => getIssuedSerial(gateway, 'a.test') !== before)
    for (const { port } of listeners)
      t.equal(await getSerial(port, 'a.test', root), getIssuedSerial(gateway, 'a.test'))
    const messages = lines
      .filter(({ level }) => level === 30)
      .map(({ host, msg }) => `${host}: ${msg}`)
    t.same(messages.slice(0, 2).sort(), [
      'a.test: certificate issued',
      'b.test: certificate issued',
    ])
    t.ok(messages.includes('a.test: certificate renewed'))
    t.match(
      lines.filter(({ level }) => level > 30).map(({ msg }) => msg),
      [/^the clock of this machine is \d+ minutes ahead of 127\.0\.0\.1:/],
      'a wrong clock is logged once',
    )
  })

  await t.test('are restored after a restart without an order', async (t) => {
    const store = openMemory(t)
    const first = await openGateway(t, pebble, store, ['--acme_hosts=a.test'])
    await waitUntil(() => first.names().length === 1)
    await first.acme.close()
    const orders = countOrders(pebble)
    const second = await openGateway(t, pebble, store, ['--acme_hosts=a.test'])
    t.same(second.acme.pairs, first.acme.pairs, 'immediately')
    await second.acme.work()
    t.equal(countOrders(pebble), orders)
  })

  await t.test(
    'stay in use while the directory is unreachable, and are renewed once it is reachable again',
    async (t) => {
      let nowMs = Date.now()
      const args = ['--acme_hosts=a.test']
      const options = { nowMs: () => nowMs }
      const gateway = await openGateway(t, pebble, openMemory(t), args, options)
      const { acme, lines } = gateway
      await waitUntil(() => acme.pairs.length === 1)
      const before = getIssuedSerial(gateway, 'a.test')
      await pebble.kill()
      nowMs += 4 * YEAR_MS
      const failures = () => lines.filter(({ failures = 0 }) => failures > 0)
      await waitUntil(() => failures().length === 1)
      t.match(failures(), [
        {
          host: 'a.test',
          reason: /^127\.0\.0\.1:\d+ is unreachable: connect ECONNREFUSED/,
          msg: 'certificate renewal failed; the current certificate stays in use',
        },
      ])
      await acme.work()
      t.equal(failures().length, 1, 'no retry during the pause')
      t.equal(getIssuedSerial(gateway, 'a.test'), before)
      // The directory has lost the account.
      await pebble.start()
      root = await pebble.readRoot()
      nowMs += 13_000
      await waitUntil(() => getIssuedSerial(gateway, 'a.test') !== before)
    },
  )

  await t.test('are not reordered in a loop for rejected hosts', async (t) => {
    places.set('elsewhere.test', '127.0.0.9')
    const store = openMemory(t)
    const args = ['--acme_hosts=elsewhere.test,good.test']
    const { lines, names, acme } = await openGateway(t, pebble, store, args)
    await waitUntil(() => names().length === 1)
    t.same(names(), ['good.test'], 'another host is not delayed')
    const orders = countOrders(pebble)
    const other = await openGateway(t, pebble, store, args, { at: '127.0.0.2' })
    await Promise.all([acme.work(), other.acme.work()])
    t.equal(countOrders(pebble), orders, 'nor does another gateway order it')
    const rejected = lines.filter(({ host, level }) => host === 'elsewhere.test' && level === 40)
    t.match(rejected, [
      {
        reason: /^connection: .*elsewhere\.test/,
        failures: 1,
        msg: 'certificate request failed; handshakes for this host fail until a retry succeeds',
      },
    ])
  })

  await t.test('are ordered only after the lease of another gateway expired', async (t) => {
    let nowMs = Date.now()
    const store = openMemory(t)
    const host = 'turn.test'
    const record = {
      host,
      holder: 'gone',
      holdMs: 60_000,
      failures: 0,
      waitMs: 0,
      retryMs: 0,
      reason: '',
    }
    const key = toOrderKey(toScope(pebble.directory), '', host)
    await store.commit([{ table: ACME_TABLE, key, value: encodeRecord(record) }])
    const orders = countOrders(pebble)
    const args = [`--acme_hosts=${host}`]
    const { acme, names } = await openGateway(t, pebble, store, args, { nowMs: () => nowMs })
    await acme.work()
    t.equal(countOrders(pebble), orders)
    nowMs += 60_001
    await waitUntil(() => names().length === 1)
  })

  await t.test('are stored with encrypted private keys', async (t) => {
    const store = openMemory(t)
    const secretKeys = [parseSecretKey(makeSecretKey(), 'a')]
    const args = ['--acme_hosts=a.test']
    const first = await openGateway(t, pebble, store, args, { secretKeys })
    await waitUntil(() => first.names().length === 1)
    await first.acme.close()
    const { records } = await store.list(ACME_TABLE)
    t.ok(records.length >= 2, 'certificate and account')
    for (const { key, value } of records) t.notMatch(String(value), /PRIVATE KEY/, key)
    const renewed = [parseSecretKey(makeSecretKey(), 'b'), ...secretKeys]
    const second = await openGateway(t, pebble, store, args, { secretKeys: renewed })
    t.same(second.names(), ['a.test'], 'records encrypted with the previous key can be decrypted')
    const before = getIssuedSerial(second, 'a.test')
    const third = await openGateway(t, pebble, store, args, { at: '127.0.0.2' })
    await waitUntil(() => third.names().length === 1)
    t.not(
      getIssuedSerial(third, 'a.test'),
      before,
      'a gateway with another key orders its own certificate',
    )
    t.match(third.lines[0]!.msg, /for a\.test is encrypted with a different key; .* same MX_CONFIG/)
    await third.acme.close()
    const fourth = await openGateway(t, pebble, store, args, { secretKeys: renewed })
    t.same(fourth.names(), ['a.test'], 'the other certificate is retained')
  })

  await t.test('are ordered on demand for hosts that the policy allows', async (t) => {
    const queries: string[] = []
    const rulePort = await listenHttp(t, (req, res) => {
      const host = new URL(req.url!, 'http://rule').searchParams.get('domain')!
      queries.push(host)
      res.writeHead(host.startsWith('yes') ? 200 : 403).end()
    })
    const args = [`--acme_ask=http://127.0.0.1:${rulePort}/may?a=b`]
    const gateway = await openGateway(t, pebble, openMemory(t), args)
    const { acme, names } = gateway
    const [node, uws] = await Promise.all(
      [createNodeListener, createUwsListener].map((create) =>
        openListener(t, create, (x) => x.reply(200, 'ok'), { tls: acme }),
      ),
    )
    t.equal(await getSerial(node!.port, 'yes1.test', root), getIssuedSerial(gateway, 'yes1.test'))
    t.not(await getSerial(node!.port, 'no.test', root), '', 'the handshake fails')
    t.not(await getSerial(uws!.port, 'yes2.test', root), '', 'this host is not delayed')
    await waitUntil(() => names().length === 2)
    t.equal(await getSerial(uws!.port, 'yes2.test', root), getIssuedSerial(gateway, 'yes2.test'))
    t.same(await getPlain(acme.challengeServer.port, 'yes3.test', '/a?b'), {
      status: 308,
      location: 'https://yes3.test/a?b',
    })
    t.equal((await getPlain(acme.challengeServer.port, 'no.test', '/')).status, 404)
    t.equal((await getPlain(acme.challengeServer.port, '127.0.0.1', '/')).status, 400)
    t.same(names(), ['yes1.test', 'yes2.test', 'yes3.test'])
    t.same(queries, ['yes1.test', 'no.test', 'yes2.test', 'yes3.test'], 'each host is queried once')
  })

  await t.test('are ordered for any host if neither hosts nor a policy are set', async (t) => {
    const { acme, lines, names } = await openGateway(t, pebble, openMemory(t), [])
    t.match(lines[0], { level: 40, msg: /at most 10 new names per hour; list hosts in acme_hosts/ })
    t.equal((await getPlain(acme.challengeServer.port, 'any.test', '/')).status, 308)
    t.same(names(), ['any.test'])
  })

  await t.test('are renewed in the window of the directory (ARI) as replacements', async (t) => {
    let nowMs = Date.now()
    const queries: string[] = []
    const window = (fromMs: number) => ({
      suggestedWindow: {
        start: new Date(fromMs).toISOString(),
        end: new Date(fromMs + HOUR_MS).toISOString(),
      },
    })
    let suggested = window(nowMs + 1000 * HOUR_MS)
    const known = await pebble.readDirectory()
    // Pebble with renewal information, which this version does not support.
    const front = createHttpsServer({ ...pebble.certificate }, (req, res) => {
      const { port } = front.address() as AddressInfo
      if (req.url!.startsWith('/ari/')) queries.push(req.url!.slice(5))
      const reply = req.url!.startsWith('/ari/')
        ? suggested
        : { ...known, renewalInfo: `https://127.0.0.1:${port}/ari` }
      res.setHeader('retry-after', '21600').end(JSON.stringify(reply))
    })
    const frontPort = await listen(t, front)
    const directory = `https://127.0.0.1:${frontPort}/dir`
    const both = { ...pebble, directory }
    const args = ['--acme_hosts=a.test']
    const gateway = await openGateway(t, both, openMemory(t), args, { nowMs: () => nowMs })
    await waitUntil(() => gateway.names().length === 1)
    await waitUntil(() => queries.length === 1)
    const before = getIssuedSerial(gateway, 'a.test')
    const { serialNumber } = new X509Certificate(gateway.acme.pairs[0]!.cert)
    const [, serial] = queries[0]!.split('.')
    t.match(queries[0], /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/)
    t.equal(
      Buffer.from(serial!, 'base64url').toString('hex').replace(/^00/, ''),
      serialNumber.toLowerCase(),
    )
    suggested = window(nowMs - HOUR_MS)
    await gateway.acme.work()
    t.equal(queries.length, 1, 'not requested before Retry-After')
    nowMs += 6 * HOUR_MS
    await waitUntil(() => getIssuedSerial(gateway, 'a.test') !== before)
    t.equal(queries[1], queries[0])
  })
})

t.test('fails to start with a CA file that contains no certificate', async (t) => {
  const folder = createCertificateFolder(t)
  const { keyFile } = folder.write('authority', createCertificate(['authority.test']))
  const settings = mergeSettings(
    readFlags(['--enable_acme', '--acme_hosts=a.test', `--acme_ca_file=${keyFile}`]),
  )
  const log = pino({ level: 'silent' })
  await t.rejects(openAcme({ settings, store: openMemory(t), secretKeys: [], log }), {
    message: `acme_ca_file ${keyFile} contains no PEM certificate`,
  })
})

t.test('registers with the external account binding', async (t) => {
  const key = randomBytes(32).toString('base64url')
  const pebble = await startPebble(t, {
    settings: { externalAccountBindingRequired: true, externalAccountMACKeys: { 'kid-1': key } },
  })
  if (pebble === undefined) return
  const args = ['--acme_hosts=a.test']
  const unbound = await openGateway(t, pebble, openMemory(t), args)
  await waitUntil(() => unbound.lines.some(({ failures = 0 }) => failures > 0))
  t.match(unbound.lines[0]!.reason, /^externalAccountRequired: /)
  await unbound.acme.close()
  const bound = [...args, '--acme_eab_kid=kid-1', `--acme_eab_key=${key}`]
  const { names } = await openGateway(t, pebble, openMemory(t), bound)
  await waitUntil(() => names().length === 1)
  t.same(names(), ['a.test'])
})

t.test('two gateways that share a PostgreSQL store', async (t) => {
  /** Challenges of one gateway are requested from the other. */
  const places = new Map([
    ['a.test', '127.0.0.2'],
    ['b.test', '127.0.0.1'],
  ])
  const pebble = await startPebble(t, { locate: (host) => places.get(host) ?? '127.0.0.1' })
  const postgres = pebble && (await startPostgres(t))
  if (pebble === undefined || postgres === undefined) return
  const openShared = (): Store => {
    const store = createStore(createPostgresStore({ url: postgres.url(), onWarning: t.fail }))
    t.teardown(store.close)
    return store
  }

  await t.test('respond to the challenges of each other', async (t) => {
    // The first gateway may order before the second one responds, but a failure is retried soon.
    const options = { elapsedMs: () => performance.now() * 1000 }
    const first = await openGateway(t, pebble, openShared(), ['--acme_hosts=a.test'], options)
    const second = await openGateway(t, pebble, openShared(), ['--acme_hosts=b.test'], {
      ...options,
      at: '127.0.0.2',
    })
    await waitUntil(() => first.names().length + second.names().length === 2)
    t.equal(pebble.count(/Added account|There are now 1 accounts/), 1, 'with a single account')
    await Promise.all([first.acme.close(), second.acme.close()])
  })

  await t.test('order a certificate once and both serve it without a restart', async (t) => {
    const args = ['--acme_hosts=shared.test']
    const orders = countOrders(pebble)
    let nowMs = Date.now()
    const options = { nowMs: () => nowMs }
    const gateways = await Promise.all([
      openGateway(t, pebble, openShared(), args, options),
      openGateway(t, pebble, openShared(), args, { ...options, at: '127.0.0.2' }),
    ])
    const [first, second] = gateways as [OpenGateway, OpenGateway]
    const root = await pebble.readRoot()
    const ports: number[] = []
    for (const { acme } of gateways) {
      const create = ports.length === 0 ? createNodeListener : createUwsListener
      ports.push((await openListener(t, create, (x) => x.reply(200, 'ok'), { tls: acme })).port)
    }
    await waitUntil(() => first.names().length + second.names().length === 2)
    const serial = getIssuedSerial(first, 'shared.test')
    for (const port of ports) t.equal(await getSerial(port, 'shared.test', root), serial)
    t.equal(countOrders(pebble), orders + 1, 'one order')

    nowMs += 4 * YEAR_MS
    await waitUntil(() =>
      gateways.every((gateway) => getIssuedSerial(gateway, 'shared.test') !== serial),
    )
    for (const port of ports)
      t.equal(await getSerial(port, 'shared.test', root), getIssuedSerial(first, 'shared.test'))
    t.equal(countOrders(pebble), orders + 2, 'one for the renewal')
  })
})
