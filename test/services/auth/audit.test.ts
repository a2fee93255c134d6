import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { type AuditRecord, addressOf, createAudit } from '../../../services/auth/audit.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'

const metadata = {
  'mx-account': '{"id":"admin","issuer":"mx"}',
  'mx-address': '192.0.2.1',
  'x-request-id': 'r1',
}
const RECORD: AuditRecord = {
  ...{ action: 'rule.delete', namespace: 'acme', target: 'default' },
  ...{ account: 'mx/admin', address: '192.0.2.1', request: 'r1', time: 5 },
}

t.test('records actor, action, object and address', async (t) => {
  const records: AuditRecord[] = []
  const { log } = createQuietLog()
  const audit = createAudit({ log, store: (record) => void records.push(record), nowMs: () => 5 })
  audit(createContext({ metadata }), 'rule.delete', { namespace: 'acme', target: 'default' })
  audit(createContext(), 'login.failed', { namespace: 'mx', target: 'x'.repeat(1000) })
  audit(undefined, 'key.rotate', { namespace: 'mx', target: 'a key' })
  t.same(records[0], RECORD)
  t.match(records[2], { account: 'server', address: '', request: '', target: 'a key' })
  t.match(records[1], { account: '', address: '', target: 'x'.repeat(200) })
})

t.test('logs a record that cannot be stored', async (t) => {
  for (const append of [
    () => {
      throw new Error('unavailable')
    },
    () => Promise.reject(new Error('unavailable')),
  ]) {
    const { log, lines } = createQuietLog()
    const audit = createAudit({ log, store: append, nowMs: () => 5 })
    audit(createContext({ metadata }), 'rule.delete', { namespace: 'acme', target: 'default' })
    await new Promise(setImmediate)
    const { err, ...line } = JSON.parse(lines[0]!)
    t.match(line, { ...RECORD, time: String, msg: 'cannot store audit record' })
    t.equal(err.message, 'unavailable')
  }
})

t.test('uses the address set by the platform', (t) => {
  t.equal(addressOf(createContext({ metadata })), '192.0.2.1')
  t.equal(addressOf(createContext()), '')
  t.end()
})
