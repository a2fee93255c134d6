import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { GatewayError } from '../../../../core/errors.ts'
import { createStore, type Store, type StoreWrite } from '../../../../domain/store/store.ts'
import { openCertificateCache } from '../../../../platform/acme/certificate-cache.ts'
import { createCertificateManager } from '../../../../platform/acme/certificate-manager.ts'
import { AcmeError } from '../../../../platform/acme/client/acme-error.ts'
import type { Issued } from '../../../../platform/acme/client/client.ts'
import {
  ACME_TABLE,
  type SecretKeys,
  sealingId,
  toOrderKey,
} from '../../../../platform/acme/records.ts'
import { createRenewalWindows } from '../../../../platform/acme/renewal-info.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { makeSecretKey, parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { eventually } from '../../../fixtures/eventually.ts'

const SCOPE = 'scope/'
const HOUR_MS = 3600 * 1000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365 * DAY_MS
const NO_KEYS: SecretKeys = []

interface GatewayOptions {
  readonly hosts?: readonly string[]
  readonly store?: Store
  /** Milliseconds by which its clock is ahead. */
  readonly offsetMs?: number
  readonly secretKeys?: SecretKeys
  readonly issue?: (host: string) => Promise<Issued>
  readonly policy?: (host: string) => Promise<boolean>
}

/** The clock of all gateways, advanced by the test. */
const time = { ms: Date.parse('2026-01-01T00:00:00Z') }

function issueFor(host: string): Issued {
  const notAfter = new Date(time.ms + 90 * DAY_MS)
  return createCertificate([host], { notBefore: new Date(time.ms), notAfter })
}

function openStore(t: Test): Store {
  const store = createStore(createMemoryStore(), { nowMs: () => time.ms })
  t.teardown(store.close)
  return store
}

/** A certificate manager without listeners and directory. */
async function openGateway(t: Test, options: GatewayOptions = {}) {
  const { hosts = ['a.test'], store = openStore(t), offsetMs = 0, secretKeys = NO_KEYS } = options
  const { issue = async (host: string) => issueFor(host), policy } = options
  const orders: string[] = []
  const clock = { nowMs: () => time.ms + offsetMs, elapsedMs: () => time.ms }
  const scope = SCOPE
  const cache = await openCertificateCache({
    ...{ store, scope, secretKeys, clock },
    onChange: () => {},
    onWarning: () => {},
  })
  t.teardown(cache.close)
  const windows = createRenewalWindows({
    ...{ clock, random: () => 0, onFailure: () => {} },
    directory: { readWindow: async () => undefined },
  })
  const directory = {
    issue(host: string) {
      orders.push(host)
      return issue(host)
    },
  }
  const manager = createCertificateManager({
    ...{ store, scope, secretKeys, clock, cache, directory, windows, hosts, policy },
    ...{ holder: `${Math.random()}`, holdMs: 60_000, random: () => 0, log: createLog('silent') },
  })
  t.teardown(manager.close)
  const serial = (host: string) => cache.certificates.get(host)?.cert
  return { manager, cache, orders, serial }
}

t.test(
  'does not reorder a certificate that is already due according to a fast clock',
  async (t) => {
    const { manager, orders } = await openGateway(t, { offsetMs: YEAR_MS })
    for (let i = 0; i < 10; i++) {
      await manager.work()
      time.ms += 10_000
    }
    t.equal(orders.length, 1)
    time.ms += 6 * HOUR_MS
    await manager.work()
    t.equal(orders.length, 2, 'renewed several hours later')
  },
)

t.test('a second gateway with a fast clock waits before it renews again', async (t) => {
  const store = openStore(t)
  const first = await openGateway(t, { store })
  await first.manager.work()
  const second = await openGateway(t, { store, offsetMs: YEAR_MS })
  await second.cache.refresh()
  t.equal(first.orders.length, 1)
  await second.manager.work()
  for (let i = 0; i < 5; i++) {
    time.ms += 10_000
    await first.manager.work()
    await second.manager.work()
  }
  t.equal(first.orders.length + second.orders.length, 2, 'one more order if no state is shared')
})

t.test('pauses after a failure on all gateways, even with different clocks', async (t) => {
  const store = openStore(t)
  const issue = async (): Promise<Issued> => {
    throw new AcmeError('no', { kind: 'rejected' })
  }
  const gateways = await Promise.all(
    [0, 2 * HOUR_MS, -2 * HOUR_MS].map((offsetMs) => openGateway(t, { store, offsetMs, issue })),
  )
  const count = () => gateways.reduce((sum, { orders }) => sum + orders.length, 0)
  async function workAll(): Promise<void> {
    for (const { manager, cache } of gateways) {
      await cache.refresh()
      await manager.work()
    }
  }
  await workAll()
  await workAll()
  t.equal(count(), 1)
  time.ms += 59_000
  await workAll()
  t.equal(count(), 1, 'within the first minute')
  time.ms += 1000
  await workAll()
  t.equal(count(), 2, 'one gateway orders afterwards')
})

t.test('a lease excludes a gateway with a fast clock, and expires after a crash', async (t) => {
  const store = openStore(t)
  let fail!: (error: Error) => void
  const issue = () =>
    new Promise<Issued>((_, reject) => {
      fail = reject
    })
  const first = await openGateway(t, { store, issue })
  const running = first.manager.work()
  await eventually(async () => first.orders.length === 1)
  const second = await openGateway(t, { store, offsetMs: YEAR_MS })
  await second.manager.work()
  t.equal(second.orders.length, 0)
  t.ok(second.manager.isOrderedElsewhere('a.test'))
  time.ms += 60_001
  await second.manager.work()
  t.equal(second.orders.length, 1)
  fail(new AcmeError('late', { kind: 'rejected' }))
  await running
  const record = await store.read(ACME_TABLE, toOrderKey(SCOPE, '', 'a.test'))
  t.notMatch(
    String(record?.value),
    /late/,
    'a gateway that lost the lease does not overwrite the record',
  )
})

t.test('backs off after an error that does not come from the directory', async (t) => {
  const issue = async (): Promise<Issued> => {
    throw new TypeError('broken')
  }
  const { manager, orders } = await openGateway(t, { issue })
  for (let i = 0; i < 60; i++) {
    await manager.work()
    time.ms += 10_000
  }
  // Attempts follow after one, three and nine minutes.
  t.equal(orders.length, 3)
})

/** A store that can lose writes or their acknowledgements. */
function breakStore(store: Store): { store: Store; breaks: { writes: number; answers: number } } {
  const breaks = { writes: 0, answers: 0 }
  const unavailable = () => new GatewayError('store', 503, 'unavailable')
  const broken = {
    ...store,
    async commit(writes: readonly StoreWrite[]) {
      if (breaks.writes > 0) {
        breaks.writes--
        throw unavailable()
      }
      const versions = await store.commit(writes)
      if (breaks.answers > 0) {
        breaks.answers--
        throw unavailable()
      }
      return versions
    },
  }
  return { store: broken, breaks }
}

t.test('stores a certificate later, without a new order, after a failed write', async (t) => {
  const { store, breaks } = breakStore(openStore(t))
  const issue = async (host: string): Promise<Issued> => {
    // One write stores the certificate, one releases the lease.
    breaks.writes = 2
    return issueFor(host)
  }
  const { manager, orders, serial } = await openGateway(t, { store, issue })
  await manager.work()
  t.equal(serial('a.test'), undefined)
  time.ms += 10_000
  await manager.work()
  t.ok(serial('a.test'))
  t.equal(orders.length, 1)
})

t.test('resumes a lease whose acquisition or release was not acknowledged', async (t) => {
  const issue = async (): Promise<Issued> => {
    throw new AcmeError('no', { kind: 'rejected' })
  }
  const { store, breaks } = breakStore(openStore(t))
  const { manager, orders, cache } = await openGateway(t, { store, issue })
  breaks.answers = 1
  await manager.work()
  t.equal(orders.length, 0)
  time.ms += 10_000
  await manager.work()
  t.equal(orders.length, 1, 'the same gateway resumes the lease')
  await cache.refresh()
  t.match(cache.orders.get('a.test'), { failures: 1, holdMs: 0, waitMs: 60_000, reason: 'no' })
  const failingStore = breakStore(openStore(t))
  const other = await openGateway(t, {
    store: failingStore.store,
    async issue(host) {
      failingStore.breaks.answers = 1
      return issueFor(host)
    },
  })
  await other.manager.work()
  await other.cache.refresh()
  t.ok(other.serial('a.test'))
  time.ms += HOUR_MS
  await other.manager.work()
  t.equal(other.orders.length, 1, 'the lease is active without an acknowledgement')
})

t.test('orders certificates of different hosts concurrently', async (t) => {
  let end!: (issued: Issued) => void
  const { manager, serial } = await openGateway(t, {
    hosts: ['slow.test', 'a.test'],
    policy: async () => true,
    issue: async (host) =>
      host === 'slow.test'
        ? new Promise((resolve) => {
            end = resolve
          })
        : issueFor(host),
  })
  const running = manager.work()
  await eventually(async () => serial('a.test') !== undefined)
  await manager.request('b.test')
  t.ok(serial('b.test'))
  end(issueFor('slow.test'))
  await running
  t.ok(serial('slow.test'))
})

t.test('requests for paused hosts do not fill the queue', async (t) => {
  const { manager, serial, orders } = await openGateway(t, {
    hosts: [],
    policy: async () => true,
    async issue(host) {
      if (host === 'b.test') return issueFor(host)
      throw new AcmeError('no', { kind: 'rejected' })
    },
  })
  const hosts = Array.from({ length: 1000 }, (_, i) => `h${i}.test`)
  for (const host of hosts) await manager.request(host)
  for (const host of hosts) await manager.request(host)
  t.equal(orders.length, 1000)
  await manager.request('b.test')
  t.ok(serial('b.test'))
})

t.test('gateways with different secret keys order separate certificates', async (t) => {
  const store = openStore(t)
  const [a, b] = ['a', 'b'].map((name) => parseSecretKey(makeSecretKey(), name))
  const first = await openGateway(t, { store, secretKeys: [a!] })
  await first.manager.work()
  const second = await openGateway(t, { store, secretKeys: [b!] })
  await second.manager.work()
  t.ok(second.serial('a.test'), 'immediately, not near the expiry of the undecryptable certificate')
  await first.cache.refresh()
  t.not(first.serial('a.test'), second.serial('a.test'))
  const both = await openGateway(t, { store, secretKeys: [b!, a!] })
  await both.manager.work()
  t.equal(both.orders.length, 0, 'a gateway with the previous key orders none')
  t.equal(sealingId([b!, a!]), b!.id)
})

t.test(
  'records of listed hosts never expire; other records expire a week after the certificate',
  async (t) => {
    const store = openStore(t)
    const policy = async (): Promise<boolean> => true
    const { manager } = await openGateway(t, { store, policy })
    await manager.work()
    await manager.request('b.test')
    const { records } = await store.list(ACME_TABLE)
    const expiries = new Map(
      records.map(({ key, expiresMs }) => [key.slice(SCOPE.length), expiresMs]),
    )
    t.equal(expiries.get('certificate/plain/a.test'), 0)
    t.equal(expiries.get('order/plain/a.test'), 0)
    // Certificates have a resolution of one second.
    const nowMs = time.ms - (time.ms % 1000)
    t.equal(expiries.get('certificate/plain/b.test'), nowMs + 97 * DAY_MS)
  },
)
