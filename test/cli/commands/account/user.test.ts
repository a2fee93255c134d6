import t, { type Test } from 'tap'
import userCommand from '../../../../cli/commands/account/user.ts'
import { readConfig } from '../../../../cli/state/config.ts'
import { runMx } from '../../../fixtures/mx.ts'

const home = t.testdir()
process.env['HOME'] = home

async function user(t: Test, ...words: string[]): Promise<string> {
  const written = t.capture(process.stdout, 'write', () => true)
  try {
    await userCommand.run(words)
  } finally {
    written.restore()
  }
  return written()
    .map(({ args }) => String(args[0]))
    .join('')
}

t.test('mx user config prints the settings of commands, and masks a secret', async (t) => {
  t.equal(
    await user(t, 'config'),
    'user: n/a\nnamespace: mx\nenvironment: local\ngit.credentials: n/a\ngit.baseurl: n/a\n',
  )
  t.same(JSON.parse(await user(t, 'config', '-o', 'json')), {
    ...{ user: '', namespace: 'mx', environment: 'local' },
    ...{ 'git.credentials': '', 'git.baseurl': '' },
  })
  t.equal(await user(t, 'namespace', '-o', 'json'), '"mx"\n')
  await user(t, 'config', 'set', 'git.baseurl', 'example.com/all')
  await user(t, 'config', 'set', 'git.credentials', 'hush')
  t.match(
    await user(t, 'config'),
    /git\.credentials: \[secret\]\ngit\.baseurl: example\.com\/all\n$/,
  )
  await user(t, 'config', 'set', 'git.local.baseurl', 'example.com/local')
  t.match(await user(t, 'config'), /git\.baseurl: example\.com\/local\n$/)
  await user(t, 'config', 'set', 'git.credentials', '')
  t.match(await user(t, 'config'), /git\.credentials: n\/a\n/)
})

t.test('the value - is read from standard input', async (t) => {
  const words = ['user', 'config', 'set', 'git.credentials', '-']
  t.match(await runMx(words, { cwd: home, env: { HOME: home } }), { code: 0, stderr: '' })
  t.equal(readConfig().get('git.credentials'), '', 'standard input was empty')
})

t.test('an unknown setting is rejected with a list of the known ones', async (t) => {
  for (const name of ['user', 'git', 'git.a.b.baseurl', 'git.__proto__.baseurl'])
    await t.rejects(user(t, 'config', 'set', name, 'x'), {
      message: `unknown name ${name}, expected git.baseurl, git.<env>.baseurl or git.credentials`,
      status: 2,
    })
})
