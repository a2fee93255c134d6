import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import type { DrainedNode } from '../../../platform/gateway/nodes/drained-nodes.ts'
import { receiveDrains, shareDrains } from '../../../platform/workers/worker-drains.ts'

const [A, B] = ['a', 'b'].map((id) => ({ domain: 'mx', service: 'shop', id })) as [
  DrainedNode,
  DrainedNode,
]

/** Connects this process, as a worker, to the primary's end of the channel. */
function openChannel(t: Test): Worker {
  const worker = Object.assign(new EventEmitter(), {
    isConnected: () => true,
    send: (message: unknown) => process.emit('message', message, undefined),
  })
  const before = { send: process.send }
  const listeners = process.listeners('message')
  process.send = (message: unknown) => worker.emit('message', message)
  t.teardown(() => {
    Object.assign(process, before)
    for (const listener of process.listeners('message'))
      if (!listeners.includes(listener)) process.off('message', listener)
  })
  return worker as unknown as Worker
}

t.test('a worker receives the drained nodes before it serves, and each change', async (t) => {
  const worker = openChannel(t)
  const drains = shareDrains()
  drains.set([A])
  drains.attach(worker)
  const received = await receiveDrains()
  t.same(received.current, [A])
  drains.set([A, B])
  const lists: (readonly DrainedNode[])[] = []
  received.subscribe((nodes) => lists.push(nodes))
  drains.set([])
  t.same(lists, [[A, B], []])
  worker.emit('exit')
  drains.set([A])
  t.equal(lists.length, 2)
})

t.test('a worker starts without a response of its primary', async (t) => {
  openChannel(t)
  t.same((await receiveDrains()).current, [])
})
