import t from 'tap'
import { toLower, toPascal } from '../../../lib/text/case.ts'

t.test(
  'toPascal converts service names to type names, toLower endpoint names to function names',
  (t) => {
    t.equal(toPascal('mail-box'), 'MailBox')
    t.equal(toPascal('go.mx.api.mail'), 'GoMxApiMail')
    t.equal(toLower('ListServices'), 'listServices')
    t.end()
  },
)
