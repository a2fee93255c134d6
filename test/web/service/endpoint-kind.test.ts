import t from 'tap'
import { toKind } from '../../../web/service/endpoint-kind.ts'

t.test('maps metadata to the streaming side, unknown if unspecified', async (t) => {
  t.equal(toKind({ metadata: {} }), 'unary')
  t.equal(toKind({ metadata: { streams: 'both' } }), 'unary')
  for (const streams of ['server', 'client', 'both'])
    t.equal(toKind({ metadata: { stream: 'true', streams } }), streams)
  for (const streams of ['', 'all', 'unary'])
    t.equal(toKind({ metadata: { stream: 'true', streams } }), 'unknown')
  t.equal(toKind({ metadata: { stream: 'true' } }), 'unknown')
})
