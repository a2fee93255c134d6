import t from 'tap'
import { dashboardCookie } from '../../../core/http/dashboard-cookie.ts'
import { runPlugin } from '../../../sdk/testing.ts'

const NAMES = ['mx-dashboard', '__Host-mx-dashboard', 'mx-token']
/** Other cookies, which are forwarded. */
const OTHERS = [
  'theme=dark',
  'mx-sticky=a',
  'x-mx-token=a',
  'mx-tokens=a',
  '__Secure-mx-dashboard=a',
  // Cookie names are case-sensitive.
  'MX-Token=a',
  'a=mx-token=b',
  'mx-token.x=a',
  '==mx-token=a',
]

t.test('dashboard cookies are removed from requests, other cookies are forwarded', async (t) => {
  const forward = async (cookie: string | readonly string[]): Promise<string[]> => {
    const { x } = await runPlugin(dashboardCookie, { headers: { 'x-a': 'b', cookie } })
    t.equal(x.headers.get('x-a'), 'b')
    return x.headers.getAll('cookie')
  }
  for (const name of NAMES) {
    t.strictSame(await forward(`${name}=a`), [])
    t.strictSame(await forward(`x=1; ${name}=a; y=2`), ['x=1; y=2'])
    t.strictSame(await forward(`${name}=a; ${name}=b;x=1`), ['x=1'])
    t.strictSame(await forward(['x=1', `${name}=a`, 'y=2']), ['x=1', 'y=2'])
    t.strictSame(await forward(name), [])
  }
  for (const cookie of [...OTHERS, OTHERS.join('; '), 'a;b;;c = d', ''])
    t.strictSame(await forward(cookie), [cookie], cookie)
})

t.test('Set-Cookie headers of dashboard cookies are removed from responses', async (t) => {
  const relay = async (setCookie: readonly string[]): Promise<string[]> => {
    const reply = { status: 201, headers: { 'set-cookie': setCookie, 'x-a': 'b' } }
    const { headers, status } = await runPlugin(dashboardCookie, {}, { reply })
    t.strictSame([headers.get('x-a'), status], ['b', 201])
    return headers.getAll('set-cookie')
  }
  const attributes = '; Path=/; HttpOnly; Max-Age=100'
  for (const name of NAMES)
    for (const pair of [
      `${name}=a`,
      `${name}=`,
      ` \t${name} \t= a`,
      name,
      // A cookie without a name is sent as its value.
      `=${name}=a`,
      ` = ${name}=a`,
      `=${name}`,
      // uWebSockets trims such bytes when the cookie returns to the dashboard.
      `\xa0${name}=a`,
      `\xc2\xa0${name}=a`,
      `=\xff ${name}=a`,
    ]) {
      t.strictSame(await relay([pair]), [], pair)
      t.strictSame(await relay(['x=1', pair + attributes, 'y=2']), ['x=1', 'y=2'], pair)
    }
  for (const pair of OTHERS) t.strictSame(await relay([pair + attributes]), [pair + attributes])
  const description = 'x=1; comment=mx-token=a'
  t.strictSame(await relay([description]), [description])
})
