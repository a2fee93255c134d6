import t from 'tap'
import { toServiceMessage } from '../../../services/runtime/to-message.ts'
import { makeRecord, makeRevision } from './parts.ts'

t.test('sets the metadata keys of reference 7.2', async (t) => {
  const record = makeRecord({
    ...{ status: 'running', settled: 'one', startedMs: 1e12, changedMs: 1e12, retries: 2 },
    current: makeRevision('4f2a91c0', { commit: 'abc' }),
    metadata: { source: './helloworld', team: 'a' },
  })
  t.same(toServiceMessage(record), {
    ...{ name: 'helloworld', version: 'latest', source: 'source://helloworld:latest', status: 4 },
    metadata: {
      ...{ owner: 'admin', group: 'mx', status: 'running', source: './helloworld', team: 'a' },
      ...{ started: '2001-09-09T01:46:40.000Z', lastStatusUpdate: '2001-09-09T01:46:40.000Z' },
      ...{ retries: '2', build: '4f2a91c0', commit: 'abc' },
    },
  })
})

t.test('metadata includes the number of restarts and the last failure', async (t) => {
  const record = makeRecord({ restarts: 2, lastFailure: 'exited with code 7' })
  t.match(toServiceMessage(record).metadata, {
    ...{ restarts: '2', lastFailure: 'exited with code 7' },
  })
})

t.test("gives errors precedence over the owner's metadata", async (t) => {
  const metadata = { error: 'mine', owner: 'somebody' }
  t.match(toServiceMessage(makeRecord({ metadata, failure: 'no build' })), {
    ...{ status: 1, metadata: { error: 'no build', owner: 'admin' } },
  })
  t.notOk('error' in toServiceMessage(makeRecord({ metadata })).metadata)
})
