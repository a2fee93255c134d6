// Specification, Events: each group gets every event, and each event is delivered to one member of the group. In this
// test, the members are processes.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { createJetStreamEvents } from '../../adapters/events/jetstream.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import type { EventsAdapter, EventTopic } from '../../core/contracts/events.ts'
import { startNats } from '../fixtures/nats.ts'
import { toNodeArgs } from '../fixtures/programs.ts'

const MEMBER = new URL('../fixtures/jetstream-member.ts', import.meta.url)
const TOPIC: EventTopic = { namespace: 'mx', topic: 'orders' }
const EVENTS = 2000

async function startMember(t: Test, ...args: string[]) {
  const child = spawn(process.execPath, toNodeArgs(MEMBER, ...args), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const pulled: number[] = []
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  lines.on('line', (line) => pulled.push(Number(line)))
  return { child, pulled }
}

async function publish(adapter: EventsAdapter, count: number): Promise<void> {
  await adapter.append(
    Array.from({ length: count }, () => ({
      topic: TOPIC,
      event: { id: randomUUID(), timestampMs: 1, metadata: {}, payload: Buffer.from('x') },
    })),
  )
}

async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

t.test('two processes share a group', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  const adapter = createJetStreamEvents({ address: parseNatsUrl(server.url) })
  t.teardown(() => adapter.close?.())

  await t.test('each event is delivered to one of them', async (t) => {
    const args = [server.url, 'both', '60000'] as const
    const members = await Promise.all([startMember(t, ...args), startMember(t, ...args)])
    const pulled = () => members.flatMap((member) => member.pulled)
    for (let i = 0; i < EVENTS / 50; i++) await publish(adapter, 50)
    await waitUntil(() => pulled().length >= EVENTS)
    await waitUntil(async () => (await adapter.listGroups!(TOPIC))[0]!.acked === EVENTS)
    t.same(
      pulled().sort((a, b) => a - b),
      Array.from({ length: EVENTS }, (_, i) => i + 1),
    )
    for (const member of members)
      t.ok(member.pulled.length > EVENTS / 20, 'both members receive events')
  })

  await t.test('pending events of a killed process are redelivered to the other', async (t) => {
    const [holder, other] = [
      await startMember(t, server.url, 'killed', '1000', 'holds'),
      await startMember(t, server.url, 'killed', '1000'),
    ]
    await waitUntil(() => holder.pulled.length > 0)
    holder.child.kill('SIGKILL')
    await once(holder.child, 'exit')
    await waitUntil(() => new Set(other.pulled).size === EVENTS)
    const [first] = holder.pulled
    t.ok(other.pulled.includes(first!), 'including pending events')
    await waitUntil(async () => {
      const groups = await adapter.listGroups!(TOPIC)
      return groups.some(({ name, acked }) => name === 'killed' && acked === EVENTS)
    })
  })
})
