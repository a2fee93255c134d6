# The image of mx: `docker build -t mx .`. How it is run: docs/operations.md.
# Pin the base image by digest, for builds that can be repeated: `docker buildx imagetools inspect node:22-bookworm-slim` prints it;
# then write `FROM node:22-bookworm-slim@sha256:<digest>` in both stages.

# Node.js 22 on Debian 12: the versions of µWebSockets that all tests run with need no newer C library.
FROM node:22-bookworm-slim AS build
WORKDIR /src
# By the lock file; not `npm ci`, which wants what mirrors may lack: binaries of other platforms. No script of a package is run, nothing is compiled.
COPY package.json package-lock.json .npmrc ./
RUN npm install --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build \
    && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
    && npm pack --ignore-scripts \
    && mkdir /opt/mx \
    && tar -xzf mx-gateway-*.tgz -C /opt/mx --strip-components=1

FROM node:22-bookworm-slim
ENV NODE_ENV=production \
    HOME=/data \
    MX_ADDRESS=:8080 \
    MX_WEB_ADDRESS=:8082
COPY --from=build /opt/mx /opt/mx
COPY --from=build /src/node_modules /opt/mx/node_modules
RUN chmod 755 /opt/mx/dist/cli/bundle/mx.js \
    && ln -s /opt/mx/dist/cli/bundle/mx.js /usr/local/bin/mx \
    && install -d -m 0700 -o 1000 -g 1000 /data
# By number: Kubernetes cannot tell that a name is not root.
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 8080 8082
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:8089/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["mx"]
CMD ["server"]
