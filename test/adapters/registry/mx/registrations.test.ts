import t from 'tap'
import { createRegistrations } from '../../../../adapters/registry/mx/registrations.ts'
import { tick } from '../../../fixtures/raw-backend.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

function open() {
  const clock = { ms: 0 }
  const sent: string[] = []
  let inFlight = 0
  let maximum = 0
  let failing = false
  const registrations = createRegistrations({
    nowMs: () => clock.ms,
    async send({ name, nodes }, ttlSeconds) {
      maximum = Math.max(maximum, ++inFlight)
      await tick()
      inFlight--
      if (failing) throw new Error('unavailable')
      const ids = nodes.map(({ id, address }) => (id === address ? id : `${id}=${address}`))
      sent.push(`${name} ${ids} ${ttlSeconds}`)
    },
  })
  const fail = (): void => {
    failing = true
  }
  const succeed = (): void => {
    failing = false
  }
  return { clock, sent, registrations, fail, succeed, maximum: () => maximum }
}

t.test('sends accepted registrations again with their remaining TTL', async (t) => {
  const { clock, sent, registrations } = open()
  await registrations.add(makeService('a', ['h:1', 'h:2']), 90)
  t.same(sent.splice(0), ['a h:1,h:2 90'])
  t.equal(registrations.size, 2)
  await registrations.remove(makeService('a', ['h:2']))
  clock.ms = 60_500
  await registrations.renew()
  t.same(sent.splice(0), ['a h:1 30'])
  clock.ms = 90_000
  await registrations.renew()
  t.same(sent, [])
  t.equal(registrations.size, 0, 'the registration has expired')
})

t.test('does not store a rejected registration', async (t) => {
  const { registrations, fail } = open()
  fail()
  await t.rejects(registrations.add(makeService('a', ['h:1']), 90), { message: 'unavailable' })
  t.equal(registrations.size, 0)
})

t.test('sends the latest change of a node made during an outage', async (t) => {
  const { registrations, fail, succeed, sent } = open()
  await registrations.add(makeService('a', ['h:1', 'h:2']), 90)
  fail()
  const other = makeService('a', [{ ...makeNode('h:3'), id: 'h:1' }])
  await t.rejects(registrations.add(other, 90), { message: 'unavailable' })
  succeed()
  sent.length = 0
  await registrations.renew()
  t.same(sent.sort(), ['a h:1=h:3 90', 'a h:2 90'])
})

t.test('tries a failed renewal again the next time', async (t) => {
  const { registrations, fail, sent } = open()
  await registrations.add(makeService('a', ['h:1']), 90)
  fail()
  await registrations.renew()
  t.equal(registrations.size, 1)
  t.equal(sent.length, 1)
})

t.test('renews at most sixteen registrations concurrently', async (t) => {
  const { registrations, sent, maximum } = open()
  for (let i = 0; i < 100; i++) await registrations.add(makeService(`s${i}`, ['h:1']), 90)
  sent.length = 0
  await registrations.renew()
  t.equal(sent.length, 100)
  t.equal(maximum(), 16)
})

t.test('waits for a send in flight before a removal', async (t) => {
  const { registrations, sent } = open()
  const service = makeService('a', ['h:1'])
  await registrations.add(service, 90)
  const renewed = registrations.renew()
  await registrations.remove(service)
  t.equal(sent.length, 2, 'no send after the deregistration')
  await renewed
})

t.test('renews a registration without TTL every 30 seconds until it is removed', async (t) => {
  const { registrations, sent } = open()
  t.teardown(registrations.close)
  const ticks: (() => void)[] = []
  const capture = t.capture(globalThis, 'setInterval', ((tick: () => void) => {
    ticks.push(tick)
    return { unref: () => 0 }
  }) as never)
  const service = makeService('a', ['h:1'])
  await registrations.add(service, 0)
  await registrations.add(makeService('b', ['h:1']), 90)
  t.match(capture(), [{ args: [Function, 30_000] }])
  sent.length = 0
  ticks[0]!()
  await tick()
  await tick()
  t.same(sent, ['a h:1 0'])
  await registrations.remove(service)
  ticks[0]!()
  await tick()
  t.equal(sent.length, 1)
})
