import t from 'tap'
import { createMemoryBroker } from '../../adapters/broker/memory.ts'
import { createBroker } from '../../core/broker/broker.ts'
import { findOwnBroker, setOwnBroker } from '../../sdk/own-brokers.ts'

t.test('a service has the broker it was told of, opened when it is asked for', async (t) => {
  const service = {}
  t.equal(findOwnBroker(service), undefined)
  const broker = createBroker(createMemoryBroker())
  let opened = 0
  setOwnBroker(service, () => {
    opened++
    return broker
  })
  t.equal(opened, 0)
  t.equal(findOwnBroker(service), broker)
  t.equal(opened, 1)
})
