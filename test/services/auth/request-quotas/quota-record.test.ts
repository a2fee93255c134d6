import t from 'tap'
import {
  parseQuotaRecord,
  toQuotaKey,
  toQuotaPrefix,
} from '../../../../services/auth/request-quotas/quota-record.ts'

const COUNTER = { quota: 'requests', period: 'day', namespace: 'mx', apiKey: '' } as const

t.test('keys of an account start with its prefix and have a bounded length', async (t) => {
  for (const account of ['jane', 'https://id.example.com#a/b', 'ü'.repeat(500)]) {
    const key = toQuotaKey({ ...COUNTER, account }, '2026-12-01')
    t.ok(key.startsWith(toQuotaPrefix('mx', 'day', '2026-12-01', account)))
    t.ok(key.startsWith(toQuotaPrefix('mx', 'day', '2026-12-01')))
    t.equal(key.split('/').length, 7)
    t.ok(key.length < 512)
  }
})

t.test('rejects incomplete records', async (t) => {
  const record = { key: 'k', metadata: {}, expiresMs: 0, version: 1 }
  const toRecord = (content: object) => ({ ...record, value: Buffer.from(JSON.stringify(content)) })
  const content = { ...COUNTER, account: 'jane', used: 1, limit: 2, resets: 0, notified: 0 }
  t.strictSame(parseQuotaRecord(toRecord({ format: 1, ...content })), content)
  t.throws(() => parseQuotaRecord(toRecord({ format: 1, ...content, used: '1' })), { code: 500 })
})
