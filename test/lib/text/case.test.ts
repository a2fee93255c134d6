import t from 'tap'
import { toLower, toPascal } from '../../../lib/text/case.ts'

t.test('names of services as types, of endpoints as functions', (t) => {
  t.equal(toPascal('mail-box'), 'MailBox')
  t.equal(toPascal('go.mx.api.mail'), 'GoMxApiMail')
  t.equal(toLower('ListServices'), 'listServices')
  t.end()
})
