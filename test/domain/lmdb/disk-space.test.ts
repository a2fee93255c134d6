import t from 'tap'
import { isDiskFull } from '../../../domain/lmdb/disk-space.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('recognizes error codes for a full disk', (t) => {
  const folder = makeTempFolder(t, 'is-full')
  const error = (code: unknown) => Object.assign(new Error('Input/output error'), { code })
  for (const code of [28, 122, 27, -30792, -30788]) t.equal(isDiskFull(error(code), folder), true)
  t.equal(
    isDiskFull(error(5), folder),
    false,
    'the disk has free space, so the error is a hardware fault',
  )
  for (const code of [-30796, 'ENOENT', undefined]) t.equal(isDiskFull(error(code), folder), false)
  t.equal(isDiskFull(error(5), '/does/not/exist'), false)
  t.end()
})
