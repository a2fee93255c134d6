import t from 'tap'
import { createJetStreamEvents } from '../../../adapters/events/jetstream.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import { testEvents } from '../../contracts/events.ts'
import { startNats } from '../../fixtures/nats.ts'

t.test('on JetStream', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  let count = 0
  testEvents(t, () => {
    // Each test has events of its own.
    const url = `${server.url}?prefix=test${++count}`
    const open = () => createJetStreamEvents({ address: parseNatsUrl(url), onWarning() {} })
    return { adapter: open(), reopen: open, open }
  })
})
