import t from 'tap'
import {
  MESSAGE_FILE_BYTES,
  rejectFile,
  VALUE_BYTES,
} from '../../../../web/components/files/file-limit.ts'

t.test('rejects a file over the size limit, naming the limit', (t) => {
  t.equal(rejectFile({ name: 'film.mp4', size: VALUE_BYTES }, VALUE_BYTES), undefined)
  t.equal(
    rejectFile({ name: 'film.mp4', size: 11_534_337 }, VALUE_BYTES),
    'film.mp4 is too large: at most 1.0 MiB, got 11.0 MiB',
  )
  t.match(rejectFile({ name: 'film.mp4', size: 20e6 }, MESSAGE_FILE_BYTES), /at most 11\.0 MiB/)
  t.end()
})
