vtconfig = {
  proxied: function() {
    var found = window.location.pathname.match(/^(.*)\/api\/v1\/namespaces\/([^\/]+)\/services\//);
    return found ? found[1] + '/api/v1/namespaces/' + found[2] : '';
  },
  tabletLinks: function(tablet) {
    var port = tablet.port_map.vt;
    var pod = '@CLUSTER@-vttablet-' + tablet.hostname.split('.')[0];
    var base = this.proxied();
    var page = base ? base + '/pods/' + pod + ':' + port + '/proxy' : 'http://' + tablet.hostname + ':' + port;
    return [{ title: 'Status', href: page + '/debug/status' }];
  },
};
