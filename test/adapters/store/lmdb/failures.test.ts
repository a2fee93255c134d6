import t from 'tap'
import { toStoreError } from '../../../../adapters/store/lmdb/failures.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test('what means that there is no room is 507, anything else 503', (t) => {
  const folder = makeTempFolder(t, 'failures')
  const cause = (code: unknown) => Object.assign(new Error('Input/output error'), { code })
  for (const code of [28, 122, 27, -30792, -30788])
    t.match(toStoreError(cause(code), folder), { code: 507, cause: { code } })
  t.match(toStoreError(cause(5), folder), { code: 503 }, 'there is room: the disk is broken')
  for (const code of [-30796, 'ENOENT', undefined])
    t.match(toStoreError(cause(code), folder), { code: 503 })
  t.match(toStoreError(cause(5), '/does/not/exist'), { code: 503 })
  t.end()
})
