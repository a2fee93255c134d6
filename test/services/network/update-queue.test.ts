import t, { type Test } from 'tap'
import type { RouteUpdate } from '../../../domain/mesh/messages.ts'
import { createOutbox } from '../../../services/network/update-queue.ts'
import { tick } from '../../fixtures/raw-backend.ts'

/** An outbox, and a source of updates that remove routes. */
function open(t: Test) {
  let closed = 0
  const outbox = createOutbox(() => {
    closed++
  })
  t.teardown(() => outbox.end())
  const pending: string[] = []
  const source = {
    isPending: () => pending.length > 0,
    take: (): RouteUpdate[] => pending.splice(0, 2).map((key) => ({ key, advertised: undefined })),
  }
  const read = async (): Promise<string> => {
    const { done, value } = await outbox.next()
    if (done === true) return 'end'
    const { type, routes = [] } = value as { type: string; routes?: RouteUpdate[] }
    return [type, ...routes.map(({ key }) => key)].join(' ')
  }
  return { outbox, pending, source, read, closed: () => closed }
}

t.test(
  'messages precede route updates, and only the last message of each type is sent',
  async (t) => {
    const { outbox, pending, source, read } = open(t)
    pending.push('a', 'b', 'c')
    outbox.send({ type: 'pong', n: 1 })
    outbox.send({ type: 'welcome' })
    outbox.send({ type: 'pong', n: 2 })
    outbox.begin(source)
    t.strictSame(await outbox.next(), { done: false, value: { type: 'pong', n: 2 } })
    t.strictSame([await read(), await read(), await read()], ['welcome', 'routes a b', 'routes c'])
  },
)

t.test(
  'a pending read receives a message immediately, while route updates are collected',
  async (t) => {
    const { outbox, pending, source, read } = open(t)
    let reading = read()
    outbox.send({ type: 'pong' })
    t.equal(await reading, 'pong')
    reading = read()
    outbox.begin(source)
    pending.push('a')
    outbox.wake()
    pending.push('b')
    let isResolved = false
    reading.then(
      () => (isResolved = true),
      () => {},
    )
    await tick()
    t.notOk(isResolved)
    outbox.wake()
    t.equal(await reading, 'routes a b')
  },
)

t.test('empty route updates are not sent', async (t) => {
  const { outbox, source, read, pending } = open(t)
  outbox.begin({ ...source, take: () => [] })
  const reading = read()
  outbox.wake()
  await tick()
  outbox.begin(source)
  pending.push('a')
  outbox.wake()
  t.equal(await reading, 'routes a')
})

t.test('end settles pending and later reads, with the error if present', async (t) => {
  for (const reason of [undefined, new Error('over')]) {
    const { outbox, read, closed } = open(t)
    const reading = read()
    outbox.end(reason)
    outbox.end(new Error('later'))
    outbox.send({ type: 'pong' })
    outbox.wake()
    for (const reads of [reading, read()])
      if (reason === undefined) t.equal(await reads, 'end')
      else await t.rejects(reads, { message: 'over' })
    t.equal(closed(), 1)
  }
})

t.test('a reader that leaves closes the queue', async (t) => {
  const { outbox, read, closed } = open(t)
  outbox.send({ type: 'pong' })
  for await (const _ of outbox) break
  t.equal(closed(), 1)
  t.equal(await read(), 'end')
})
