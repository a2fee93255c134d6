import t from 'tap'
import {
  isRetryable,
  isSqlError,
  toStoreError,
} from '../../../../adapters/store/postgres/errors.ts'
import { GatewayError } from '../../../../core/errors.ts'

const sql = (code: string) => Object.assign(new Error(code), { severity: 'ERROR', code })

t.test('converts a full disk to 507 and an unavailable server to 503', async (t) => {
  t.match(toStoreError(sql('53100')), { code: 507, cause: { code: '53100' } })
  for (const code of [
    '08006',
    '25006',
    '28P01',
    '3D000',
    '40P01',
    '53300',
    '57014',
    '57P01',
    '57P03',
    '58030',
  ]) {
    const error = toStoreError(sql(code))
    t.type(error, GatewayError)
    t.match(error, { code: 503, cause: { code } }, code)
  }
})

t.test('converts socket, TLS and library errors to 503', async (t) => {
  for (const error of [
    Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('tls'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    new Error('Connection terminated unexpectedly'),
  ])
    t.match(toStoreError(error), { code: 503, cause: error })
})

t.test('keeps programming errors and gateway errors', async (t) => {
  const errors = [sql('42P01'), sql('22P02'), new TypeError('x'), new RangeError('x')]
  for (const error of [...errors, new GatewayError('store', 507, 'full')])
    t.equal(toStoreError(error), error)
})

t.test('recognizes retryable rollbacks', async (t) => {
  t.ok(isRetryable(sql('40001')))
  t.ok(isRetryable(sql('40P01')))
  t.notOk(isRetryable(sql('57014')))
  t.notOk(isRetryable(Object.assign(new Error('40001'), { code: '40001' })), 'not an SQL error')
  t.notOk(isSqlError(undefined))
})
