import t from 'tap'
import { isOutage } from '../../core/is-outage.ts'
import { storeError, storeFull, storeUnavailable } from '../../domain/store/errors.ts'

t.test(
  'storeUnavailable and storeFull are outages, rejected input and other errors are not',
  async (t) => {
    t.ok(isOutage(storeUnavailable(undefined)))
    t.ok(isOutage(storeFull(undefined)))
    t.notOk(isOutage(storeError(400, 'the key is empty')))
    t.notOk(isOutage(new TypeError('of ours')))
    t.notOk(isOutage(undefined))
  },
)
