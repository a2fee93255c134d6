import t from 'tap'
import { formatTemplate } from '../../../core/path/format-template.ts'
import { parseTemplate } from '../../../core/path/template.ts'

t.test('formatTemplate returns the text that was parsed', async (t) => {
  for (const text of [
    '/',
    '/users',
    '/users/{id}',
    '/users/*/items/{item.id}:undo',
    '/files/{path=**}',
    '/v1/{name=shelves/*/books/*}/pages',
    '/a/**/z',
    '/caf%C3%A9',
  ])
    t.equal(formatTemplate(parseTemplate(text)), text)
})
