import t from 'tap'
import { match } from '../../../web/state/match-path.ts'

t.test('matches a path against a pattern', async (t) => {
  t.same(match('/', '/'), {})
  t.equal(match('/', '/services'), undefined)
  t.same(match('/services', '/services/'), {}, 'trailing slash')
  t.same(match('/services/:name', '/services/greeter'), { name: 'greeter' })
  t.same(match('/services/:name', '/services/a%2Fb%20c'), { name: 'a/b c' })
  t.same(match('/services/:name', '/services/%zz'), { name: '%zz' }, 'invalid escape')
  t.equal(match('/services/:name', '/services'), undefined)
  t.equal(match('/services/:name', '/services//'), undefined)
  t.equal(match('/services/:name', '/services/a/b'), undefined)
  t.same(match('/files/*', '/files/a/b'), { rest: 'a/b' })
})
