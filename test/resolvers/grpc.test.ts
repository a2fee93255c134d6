import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import grpc from '../../resolvers/grpc.ts'

function at(path: string, namespace = 'ns'): RequestLine {
  return { method: 'POST', path, host: 'localhost', namespace }
}

t.test('maps /foo.Bar/Method to the Bar.Method method of the foo service', async (t) => {
  const rows: [string, string, string][] = [
    ['/foo.Bar/Method', 'ns.foo', 'Bar.Method'],
    ['/helloworld.v1.Greeter/SayHello', 'ns.helloworld.v1', 'Greeter.SayHello'],
    ['/foo.bar/method', 'ns.foo', 'bar.method'],
  ]
  for (const [path, service, endpoint] of rows)
    t.same(grpc.resolve(at(path)), { service, endpoint }, path)
  t.equal(grpc.resolve(at('/foo.Bar/Method', ''))?.service, 'foo')
})

t.test('does not resolve other paths', async (t) => {
  const paths = [
    ...['/', '', '*', '/foo.Bar', '/Bar/Method', '/foo.Bar/Method/more', '/foo.Bar//Method'],
    ...['/.Bar/Method', '/foo./Method', '/foo.Bar/', '/foo..Bar/Method', '/foo.Bar/a-b'],
    ...['/foo.Bar/%4dethod', '/fo%6f.Bar/Method', `/foo.Bar/${'a'.repeat(600)}`],
  ]
  for (const path of paths) t.equal(grpc.resolve(at(path)), undefined, JSON.stringify(path))
})
