import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { createLmdbEvents } from '../../adapters/events/lmdb.ts'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createEvents, type Events } from '../../domain/events/events.ts'
import { createStore } from '../../domain/store/store.ts'
import { LOADER, toModule } from '../fixtures/programs.ts'
import { mountSmallDisk, withoutNative } from '../fixtures/small-disk.ts'

const TOPIC = { namespace: 'mx', topic: 'orders' }
const GROUP = { group: 'g', start: { sequence: 1 }, autoAck: false, ackWaitMs: 60_000 }

const makePayload = (sequence: number): Buffer =>
  Buffer.alloc(1 + ((sequence * 7919) % 9000), sequence)

async function publish(events: Events, sequence: number): Promise<boolean> {
  try {
    const published = await events.publish(TOPIC, { payload: makePayload(sequence) })
    if (published.sequence === sequence) return true
    throw new Error(`expected sequence ${sequence}, got ${published.sequence}`)
  } catch (error) {
    const { code, message } = error as { readonly code: unknown; readonly message: string }
    if (code === 507 && message === 'the event store is full: nothing was written') return false
    throw error
  }
}

/** Number of stored events from the first retained one. */
async function count(events: Events, from = 1): Promise<number> {
  let sequence: number | undefined = from
  let sum = 0
  while (sequence !== undefined) {
    const page = await events.read(TOPIC, { sequence, limit: 1000 })
    for (const event of page.events) {
      if (event.sequence !== from + sum)
        throw new Error(`expected sequence ${from + sum}, got ${event.sequence}`)
      if (!Buffer.from(event.payload).equals(makePayload(event.sequence)))
        throw new Error(`event ${event.sequence} is partial`)
      sum++
    }
    sequence = page.next
  }
  return sum
}

for (const sync of ['os', 'always'] as const) {
  t.test(
    `${sync}: on a full disk publishing fails with 507, reading continues, and no event is lost or partial`,
    async (t) => {
      const disk = mountSmallDisk(t, 8)
      if (disk === undefined) return
      const folder = `${disk.folder}/events`
      const events = createEvents(createLmdbEvents({ folder, sync }))
      t.teardown(events.close)
      const consumer = await events.consume(TOPIC, GROUP)
      let last = 0
      while (await publish(events, last + 1)) last++
      t.ok(last > 100, `${last} events were published`)
      for (let i = 0; i < 20; i++) t.notOk(await publish(events, last + 1))
      t.equal(await count(events), last, 'exactly the acknowledged events exist')
      const [first, second] = await consumer.next()
      t.strictSame([first!.event.sequence, second!.event.sequence], [1, 2], 'consuming continues')

      disk.resize(16)
      await consumer.ack(first!.event.id)
      t.ok(await publish(events, ++last), 'publishing works once there is space')
      while (await publish(events, last + 1)) last++
      await events.close()
      disk.resize(32)
      const reopened = createEvents(createLmdbEvents({ folder, sync }))
      t.teardown(reopened.close)
      t.equal(await count(reopened), last)
      t.ok(await publish(reopened, last + 1))
      const [next] = await (await reopened.consume(TOPIC, GROUP)).next()
      t.equal(next!.event.sequence, 2)
    },
  )
}

t.test('events use space freed by retention once there is a reserve', async (t) => {
  const disk = mountSmallDisk(t, 8)
  if (disk === undefined) return
  const adapter = createLmdbEvents({ folder: disk.folder })
  const events = createEvents(adapter)
  t.teardown(events.close)
  let last = 0
  while (await publish(events, last + 1)) last++
  disk.resize(9)
  await adapter.retain!(TOPIC, { maxAgeMs: 0, maxBytes: 1_000_000 }, Date.now())
  const full = last
  while (await publish(events, last + 1)) last++
  t.ok(last - full > full / 2, `${last - full} more than ${full}`)
  const [topic] = await adapter.listTopics()
  t.equal(await count(events, topic!.first), last - topic!.first + 1)
})

t.test('a disk full of events still accepts records of operators', async (t) => {
  const disk = mountSmallDisk(t, 16)
  if (disk === undefined) return
  const onWarning = (): void => {}
  const events = createEvents(createLmdbEvents({ folder: `${disk.folder}/events`, onWarning }))
  const store = createStore(createLmdbStore({ folder: `${disk.folder}/store`, onWarning }))
  for (const { close } of [events, store]) t.teardown(close)
  const table = { database: 'mx', table: 'auth' }
  const value = Buffer.alloc(200)
  await store.commit([{ table, key: 'rule', value }])
  let last = 0
  while (await publish(events, last + 1)) last++
  const fill = async (): Promise<void> => {
    for (;;) await events.publish(TOPIC, { payload: Buffer.alloc(0) })
  }
  await t.rejects(fill(), { code: 507 })
  await t.rejects(events.consume(TOPIC, GROUP), { code: 507 }, 'groups do not use it either')
  for (let i = 0; i < 100; i++) await store.commit([{ table, key: `rule/${i}`, value }])
  const tenant = { database: 'tb', table: 'a' }
  await t.rejects(store.commit([{ table: tenant, key: 'a', value }]), { code: 507 })
})

t.test('a full disk does not end the process, and is logged once', async (t) => {
  const disk = mountSmallDisk(t, 4)
  if (disk === undefined) return
  const toUrl = (path: string) => JSON.stringify(toModule(new URL(path, import.meta.url)))
  const program = `
    import { createLmdbEvents } from ${toUrl('../../adapters/events/lmdb.ts')}
    import { createEvents } from ${toUrl('../../domain/events/events.ts')}
    const events = createEvents(createLmdbEvents({ folder: ${JSON.stringify(disk.folder)}, onWarning: console.log }))
    const codes = new Set()
    const topic = { namespace: 'mx', topic: 'orders' }
    for (let i = 0; i < 3000; i++)
      await events.publish(topic, { payload: new Uint8Array(3000) }).catch(({ code }) => codes.add(code))
    await events.close()
    console.log([...codes].join())
  `
  const args = [...LOADER, '--input-type=module', '-e', program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let stderr = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      stderr += chunk
    })
  t.strictSame(await once(child, 'close'), [0, null])
  const line = `the event store is full: no space left in ${disk.folder}; writes are rejected until space is free`
  t.equal(withoutNative(stderr), `${line}\n507\n`)
})
