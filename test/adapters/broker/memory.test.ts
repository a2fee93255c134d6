import t from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import { testBroker } from '../../contracts/broker.ts'

testBroker(t, createMemoryBroker)

t.test('distributes messages of a queue round-robin, even after a member leaves', (t) => {
  const broker = createMemoryBroker()
  const received: string[] = []
  const unsubscribe = ['a', 'b', 'c'].map((name) =>
    broker.subscribe(
      'orders',
      () => {
        received.push(name)
      },
      { queue: 'mail' },
    ),
  )
  const publish = (times: number): string => {
    for (let i = 0; i < times; i++) {
      void broker.publish('orders', { headers: {}, body: new Uint8Array(0) })
    }
    return received.splice(0).join('')
  }
  t.equal(publish(7), 'abcabca')
  void (unsubscribe[0] as () => void)()
  t.equal(publish(3), 'bcb', 'the rotation continues with the next member')
  void (unsubscribe[2] as () => void)()
  t.equal(publish(2), 'bb')
  t.end()
})
