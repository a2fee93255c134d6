import t from 'tap'
import { toGrpcRoute } from '../../../../core/rpc/grpc/path.ts'

t.test('the package of a gRPC service is the service name, within the namespace', async (t) => {
  t.match(toGrpcRoute('ns', 'helloworld.Greeter', 'SayHello'), {
    service: 'ns.helloworld',
    endpoint: 'Greeter.SayHello',
  })
  t.match(toGrpcRoute('', 'a.b.v1.C', 'd'), { service: 'a.b.v1', endpoint: 'C.d' })
  for (const [full, method] of [
    ['Greeter', 'SayHello'],
    ['.Greeter', 'SayHello'],
    ['a.', 'b'],
    ['a.1b', 'c'],
    ['a.b', 'c.d'],
    ['a.b', ''],
  ] as const)
    t.equal(toGrpcRoute('ns', full, method), undefined, `${full}/${method}`)
})
