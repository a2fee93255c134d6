import { mock } from 'node:test'
import t from 'tap'
import { createLoginLimit, type LoginAttempt } from '../../../../core/auth/token/login-limit.ts'
import { createSecretHasher } from '../../../../core/auth/token/secret-hash.ts'
import { badRequest } from '../../../../sdk/errors.ts'

const ID = 'auth.Auth.Token'
const JANE: LoginAttempt = { namespace: 'mx', account: 'jane', address: '192.0.2.1' }

function open() {
  const clock = { ms: 1_000_000 }
  const limit = createLoginLimit(() => clock.ms)
  const fail = (attempt: LoginAttempt) =>
    limit
      .run(attempt, ID, async () => {
        throw badRequest(ID, 'Secret not correct')
      })
      .then(
        () => 200,
        ({ code }: { code: number }) => code,
      )
  const succeed = (attempt: LoginAttempt) => limit.run(attempt, ID, async () => 'in')
  return { clock, limit, fail, succeed }
}

t.test(
  'rejects logins with 429 after five failures of an account and address within a minute',
  async (t) => {
    const { clock, fail, succeed } = open()
    for (let i = 0; i < 5; i++) t.equal(await fail(JANE), 400)
    clock.ms += 15_000
    await t.rejects(succeed(JANE), {
      ...{ id: ID, code: 429, headers: ['retry-after', '45'] },
      message: 'too many failed logins; try again in 45 s',
    })
    t.equal(await succeed({ ...JANE, account: 'john' }), 'in', 'other accounts can log in')
    t.equal(await succeed({ ...JANE, namespace: 'acme' }), 'in')
    t.equal(await succeed({ ...JANE, address: '192.0.2.2' }), 'in')
    clock.ms += 45_000
    t.equal(await succeed(JANE), 'in')
  },
)

t.test('successful logins are not limited', async (t) => {
  const { succeed, fail } = open()
  for (let i = 0; i < 4; i++) await fail(JANE)
  for (let i = 0; i < 100; i++) await succeed(JANE)
  t.equal(await fail(JANE), 400)
  t.equal(await fail(JANE), 429)
})

t.test('addresses of one IPv6 /64 network share a limit', async (t) => {
  const { fail } = open()
  const from = (i: number) => ({ ...JANE, address: `2001:db8:0:1::${(i + 1).toString(16)}` })
  for (let i = 0; i < 5; i++) t.equal(await fail(from(i)), 400)
  t.equal(await fail(from(5)), 429)
  t.equal(await fail({ ...JANE, address: '2001:db8:0:2::1' }), 400)
  for (let i = 0; i < 25; i++) t.equal(await fail({ ...from(i), account: `a${i}` }), 400)
  t.equal(await fail({ ...from(40), account: 'other' }), 429)
})

t.test('counts all loopback addresses as one', async (t) => {
  const { fail } = open()
  const addresses = ['127.0.0.1', '127.0.0.2', '127.255.3.4', '::1', '::ffff:127.0.0.5']
  for (const address of addresses) t.equal(await fail({ ...JANE, address }), 400)
  t.equal(await fail({ ...JANE, address: '127.0.0.6' }), 429)
})

t.test('rejects an address with 429 after 30 failed logins with different accounts', async (t) => {
  const { fail } = open()
  for (let i = 0; i < 30; i++) t.equal(await fail({ ...JANE, account: `a${i}` }), 400)
  t.equal(await fail({ ...JANE, account: 'a30' }), 429)
  t.equal(await fail({ ...JANE, address: '192.0.2.9', account: 'a30' }), 400)
})

t.test(
  'rejects an account with 429 after failures from 50 addresses, except from addresses it has logged in from',
  async (t) => {
    const { fail, succeed } = open()
    await succeed(JANE)
    for (let i = 0; i < 50; i++) t.equal(await fail({ ...JANE, address: `198.51.100.${i}` }), 400)
    await t.rejects(succeed({ ...JANE, address: '192.0.2.7' }), { code: 429 })
    t.equal(await succeed(JANE), 'in')
  },
)

t.test('failures from many addresses do not block logins from loopback addresses', async (t) => {
  const { fail, succeed } = open()
  for (let i = 0; i < 50; i++) await fail({ ...JANE, address: `198.51.100.${i}` })
  t.equal(await fail({ ...JANE, address: '203.0.113.1' }), 429)
  for (const address of ['127.0.0.1', '::1'])
    t.equal(await succeed({ ...JANE, address }), 'in', address)
})

t.test('attempts without an address share one limit', async (t) => {
  const { fail } = open()
  for (let i = 0; i < 300; i++) t.equal(await fail({ ...JANE, account: `a${i}`, address: '' }), 400)
  t.equal(await fail({ ...JANE, account: 'a300', address: '' }), 429)
})

t.test('concurrent failures are limited, but concurrent successes are not', async (t) => {
  const { fail, succeed } = open()
  const failed = await Promise.all(Array.from({ length: 50 }, () => fail(JANE)))
  t.equal(failed.filter((code) => code === 400).length, 5)
  t.equal(failed.filter((code) => code === 429).length, 45)
  const john = { ...JANE, account: 'john' }
  const all = await Promise.all(Array.from({ length: 50 }, () => succeed(john)))
  t.equal(all.length, 50)
})

t.test('an error of the server does not count as a failed login', async (t) => {
  const { limit, succeed } = open()
  for (let i = 0; i < 10; i++)
    await t.rejects(
      limit.run(JANE, ID, async () => {
        throw new Error('the store is unavailable')
      }),
    )
  t.equal(await succeed(JANE), 'in')
})

t.test('onRefused is called once a minute per limit', async (t) => {
  const { clock, limit, fail } = open()
  let notifications = 0
  const expectRejected = (attempt: LoginAttempt) =>
    t.rejects(
      limit.run(
        attempt,
        ID,
        async () => 'in',
        () => notifications++,
      ),
      { code: 429 },
    )
  for (let i = 0; i < 5; i++) await fail(JANE)
  t.equal(notifications, 0)
  for (let i = 0; i < 3; i++) await expectRejected(JANE)
  t.equal(notifications, 1)
  for (let i = 0; i < 25; i++) await fail({ ...JANE, account: `a${i}` })
  for (let i = 0; i < 100; i++) await expectRejected({ ...JANE, account: `b${i}` })
  t.equal(notifications, 2, 'random accounts share the limit of their address')
  clock.ms += 60_000
  for (let i = 0; i < 5; i++) await fail(JANE)
  await expectRejected(JANE)
  t.equal(notifications, 3)
})

t.test('rejects the 1006th concurrent attempt with 503 and Retry-After', async (t) => {
  const { limit } = open()
  let release = (): void => {}
  const pending = new Promise<void>((resolve) => {
    release = resolve
  })
  const running = Array.from({ length: 1005 }, () => limit.run(JANE, ID, () => pending))
  await t.rejects(
    limit.run(JANE, ID, () => pending),
    { code: 503, headers: ['retry-after', '5'] },
  )
  release()
  await Promise.all(running)
})

t.test('addresses that have logged in before have priority', async (t) => {
  const { limit } = open()
  const getAdmission = (attempt: LoginAttempt) => limit.run(attempt, ID, async (slot) => slot)
  t.match(await getAdmission(JANE), { key: '192.0.2.1', hasPriority: false, maxWaitMs: 5000 })
  t.match(await getAdmission({ ...JANE, account: 'john' }), { hasPriority: true })
  t.match(await getAdmission({ ...JANE, address: '192.0.2.2' }), { hasPriority: false })
  const unknown = { ...JANE, address: '' }
  await getAdmission(unknown)
  t.match(await getAdmission(unknown), { hasPriority: false }, 'an unknown address has no priority')
})

t.test('rejects an attempt that waits longer than 5 s with 503 and Retry-After', async (t) => {
  const clock = { ms: 1_000_000, stepMs: 0 }
  const limit = createLoginLimit(() => {
    clock.ms += clock.stepMs
    return clock.ms
  })
  let release = (): void => {}
  const pending = new Promise<void>((resolve) => {
    release = resolve
  })
  const running = Array.from({ length: 5 }, () => limit.run(JANE, ID, () => pending))
  clock.stepMs = 2000
  await t.rejects(
    limit.run(JANE, ID, () => pending),
    { code: 503, headers: ['retry-after', '5'], message: /the wait exceeds 5 s/ },
  )
  release()
  await Promise.all(running)
})

t.test('in a flood of logins, an address that has logged in before has priority', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const running: (() => void)[] = []
  const hasher = createSecretHasher('auth', 4, async () => {
    await new Promise<void>((resolve) => running.push(resolve))
    return Buffer.alloc(32)
  })
  const { clock, limit, succeed } = open()
  await succeed(JANE)
  const logIn = (address: string) =>
    limit
      .run({ ...JANE, address, account: address }, ID, (slot) => hasher.hash('x', slot))
      .then(
        () => 'in',
        ({ code }: { code: number }) => code,
      )
  const unknownAddresses = Array.from({ length: 40 }, (_, i) => logIn(`198.51.100.${i}`))
  // More attempts than one address may have in flight.
  const priorityLogins = Array.from({ length: 40 }, () => logIn(JANE.address))
  await new Promise(setImmediate)
  clock.ms += 60_000
  mock.timers.tick(60_000)
  t.same(await Promise.all(unknownAddresses.slice(2)), Array(38).fill(503))
  for (let i = 0; i < 42; i++) {
    running.shift()?.()
    await new Promise(setImmediate)
  }
  t.same(await Promise.all(priorityLogins), Array(40).fill('in'))
  t.same(
    await Promise.all(unknownAddresses.slice(0, 2)),
    ['in', 'in'],
    'the two checks in flight succeed',
  )
})
