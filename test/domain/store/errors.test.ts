import t from 'tap'
import { storeFull, storeUnavailable } from '../../../domain/store/errors.ts'

t.test('exposes a code and no cause to callers', (t) => {
  const cause = new Error('ENOSPC: /var/secret/data.mdb')
  t.strictSame(storeFull(cause).toBody(), {
    Id: 'store',
    Code: 507,
    Detail: 'the store is full: nothing was written',
    Status: 'Insufficient Storage',
  })
  t.strictSame(storeUnavailable(cause).toBody(), {
    Id: 'store',
    Code: 503,
    Detail: 'the store cannot be reached',
    Status: 'Service Unavailable',
  })
  t.equal(storeFull(cause).cause, cause)
  t.end()
})
