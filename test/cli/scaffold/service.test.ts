import t from 'tap'
import { service } from '../../../cli/scaffold/service.ts'

t.test('the service template has a service, a main program, a test and project files', (t) => {
  const files = service.files('mail-box')
  t.same(Object.keys(files), [
    ...['mail-box.ts', 'main.ts', 'mail-box.test.ts', 'package.json', 'tsconfig.json'],
    ...['.gitignore', 'README.md'],
  ])
  t.match(files['mail-box.ts'], "export const mailBox = new Service({ name: 'mail-box' })")
  t.match(files['mail-box.ts'], ".handle('MailBox', {")
  t.match(files['main.ts'], "import { mailBox } from './mail-box.ts'")
  for (const text of Object.values(files)) t.ok(text.endsWith('\n'))
  t.match(service.next('mail-box').at(-1), ['mx mail-box call --name=John', String])
  t.end()
})
