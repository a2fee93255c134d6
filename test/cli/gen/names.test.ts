import t from 'tap'
import { toLower, toPascal } from '../../../cli/gen/names.ts'

t.test('names of services become names of types', (t) => {
  for (const [name, pascal] of [
    ['mail', 'Mail'],
    ['mail-box', 'MailBox'],
    ['go.mx.srv.mail_box2', 'GoMxSrvMailBox2'],
    ['-mail-', 'Mail'],
    ['Helloworld', 'Helloworld'],
  ] as const)
    t.equal(toPascal(name), pascal)
  t.end()
})

t.test('names of methods begin with a small letter', (t) => {
  t.equal(toLower('ListServices'), 'listServices')
  t.equal(toLower(''), '')
  t.end()
})
