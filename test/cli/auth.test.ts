import t from 'tap'
import { openAuthServer } from '../fixtures/auth-doors.ts'
import { runAtTerminal } from '../fixtures/terminal.ts'

t.test('deleting the last way in asks first, at a terminal', async (t) => {
  const { home, proxy, mx, ask } = await openAuthServer(t)
  await mx('login', 'admin', '--password=mx')
  const remove = (answer: string) =>
    runAtTerminal(t, ['auth', 'delete', 'rule', 'default'], {
      ...{ cwd: home, env: { HOME: home, MX_ENV_LOCAL_ADDRESS: proxy }, answer },
    })
  const refused = await remove('n')
  if (refused === undefined) return t.comment('script is not installed')
  t.match(refused, /lets anybody log in[^\n]*\. Do it nonetheless\? \[y\/N\]/)
  t.match(refused, 'mx: nothing was changed')
  t.match((await ask('Rules.List', {})).rules, [{ id: 'default' }])
  t.match(await remove('y'), 'Rule deleted')
  await t.rejects(ask('Rules.List', {}), /Unauthorized/)
})
