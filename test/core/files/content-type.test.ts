import t from 'tap'
import { toContentType } from '../../../core/files/content-type.ts'

t.test('the type follows the extension, case-insensitively', async (t) => {
  t.strictSame(toContentType('a.min.JS'), {
    type: 'text/javascript; charset=utf-8',
    isCompressible: true,
  })
  t.strictSame(toContentType('a.woff2'), { type: 'font/woff2', isCompressible: false })
  for (const name of ['a', 'a.unknown', '.html.', 'a.constructor'])
    t.equal(toContentType(name).type, 'application/octet-stream', name)
})
