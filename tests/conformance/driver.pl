# A client of a few lines, driven by a conversation (tests/conformance/README.md): one lease at a time, bound to this process.
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;

$| = 1;
$SIG{PIPE} = "IGNORE";
my ($berth, $request, $tag, $lease, $held, $returning, $n) = (undef, "", "", "", 0, 0, 0);
my %buffer = (in => "", berth => "");
my $stdin = IO::Select->new(\*STDIN);

sub say_to { print $berth "$_[0]\n" and $berth->flush if $berth }

sub failed { print "failed $tag $_[0]\n"; $request = $lease = "" }

sub take {
    my ($line) = @_;
    my $is_event = $line =~ s/^\* //;
    my ($kind, $id, @words) = split / /, $line;
    if ($is_event && $id ne $lease) { return }
    if (!$is_event && $returning) { print "released $tag\n"; $request = $lease = ""; return $returning = $held = 0 }
    if ($kind =~ /^(ok|granted)$/ && @words) {
        my @units = map { /^(?:slot|item)=([^,]*),(\d+),(.*)/ ? "$1=$2=$3" : () } @words;
        my ($proof) = $line =~ /( proof=\S+)/;
        print "held $tag $id @units\n" if !$held;
        ($lease, $held) = ($id, 1);
        my ($name) = $request =~ /^\w+ (?:\S+ )??(\S+) pid=/;
        $name =~ s/^([^:]+:\d+).*/$1/;
        my ($text) = $units[0] =~ /=([^=]*)$/;
        $request = "reclaim $lease $name:$text pid=$$" . ($proof // "");
    } elsif ($kind =~ /^(waiting|pending)$/) {
        $lease = $id;
    } elsif ($kind eq "error" && $id =~ /^(busy|held|grace|no-memory)$/ && ($held || $id ne "grace")) {
        close $berth; undef $berth;    # try again
    } elsif ($kind eq "error" || $kind eq "denied") {
        my $code = $kind eq "error" ? $id : $words[0];
        $held ? print "lost $tag $code\n" : failed($code);
    } elsif ($kind =~ /^(revoked|expired|lost)$/) {
        print "lost $tag $words[0]\n";
    }
}

sub command {
    my ($word, $its, $wait, @wanted) = split / /, $_[0];
    $tag = $its;
    if ($word eq "acquire") {
        my $name = $wanted[0] =~ /:/ ? $wanted[0] : "$wanted[0]:1";
        my $span = $wait eq "-" ? "" : " wait=$wait";
        $request = "acquire $name pid=$$ program=perl once=$$." . $n++ . $span;
        say_to($request);
    } elsif ($word eq "release") {
        $returning = 1;
        $request = "release $lease";
        say_to($request);
    }
}

sub lines {
    my ($key, $handle, $do) = @_;
    return 0 if !sysread $handle, $buffer{$key}, 65536, length $buffer{$key};
    while ($buffer{$key} =~ s/^(.*)\n//) { my $line = $1; $do->($line) }
    return 1;
}

print "driver perl lost proof\n";
while (1) {
    if (!$berth && $request) {
        $berth = IO::Socket::UNIX->new(Peer => $ENV{BERTH_SOCKET});
        $buffer{berth} = "";
        say_to($request);
    }
    my $set = IO::Select->new(\*STDIN, $berth ? $berth : ());
    for my $ready ($set->can_read(0.1)) {
        if ($ready == \*STDIN) {
            exit 0 if !lines("in", $ready, \&command);
        } elsif ($berth && $ready == $berth && !lines("berth", $ready, \&take)) {
            close $berth; undef $berth;
        }
    }
}
