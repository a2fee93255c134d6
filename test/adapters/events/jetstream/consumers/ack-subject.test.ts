import t from 'tap'
import {
  isAckSubject,
  parseAckSubject,
} from '../../../../../adapters/events/jetstream/consumers/ack-subject.ts'

const EXPECTED = { attempt: 3, sequence: 60_002, storedMs: 1_795_314_641_842, pending: 7 }

t.test('parses a subject with and without a domain', async (t) => {
  const end = '3.60002.5.1795314641842026975.7'
  t.same(parseAckSubject(`$JS.ACK.mx+events+mx+orders.g=1.${end}`), EXPECTED)
  t.same(parseAckSubject(`$JS.ACK.hub.account.mx+events+mx+orders.g=1.${end}.random`), EXPECTED)
})

t.test('returns undefined for other subjects', async (t) => {
  for (const subject of ['', '_INBOX.abc.1', '$JS.API.INFO'])
    t.same([parseAckSubject(subject), isAckSubject(subject)], [undefined, false])
  t.ok(isAckSubject('$JS.ACK.stream.consumer.1.1.1.1.0'))
})
