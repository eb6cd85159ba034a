//! mbarrier objects (ISA 9.7.13.15) and cluster launch control (ISA 9.7.13.17).

use super::{Does, Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "mbarrier",
    sets: &[
        ("layout", ".layout::v0 .layout::v1"),
        ("anyshared", ".shared .shared::cta<7.8> .shared::cluster<8.0 sm_90>"),
        ("scopes", ".cta .cluster<8.0 sm_90>"),
        ("arrivesem", ".release<8.0> .relaxed<8.6 sm_90>"),
        ("waitsem", ".acquire<8.0> .relaxed<8.6 sm_90>"),
    ],
    sections: &[
        section("9.7.13.15.9", &[
            row("mbarrier.init{.{layout::v0<9.3 sm_90>,layout::v1<9.3 sm_90>}}{.sharedcta}.b64 [addr:shared], count:u32=1..1048575", "7.0 sm_80"),
        ]).does(Does::WRITES).work(Work::Synchronization),
        section("9.7.13.15.10", &[
            row("mbarrier.inval{.sharedcta}.b64 [addr:shared]", "7.0 sm_80"),
        ]).does(Does::WRITES).work(Work::Synchronization),
        section("9.7.13.15.11", &[
            row("mbarrier.expect_tx{.relaxed.scopes}{.anyshared}.b64 [addr:shared], txCount:u32", "8.0 sm_90"),
            row("mbarrier.complete_tx{.relaxed.scopes}{.anyshared}.b64 [addr:shared], txCount:u32", "8.0 sm_90"),
        ]).does(Does::UPDATES.and(Does::SYNCHRONIZES)).work(Work::Synchronization),
        section("9.7.13.15.13", &[
            row("mbarrier.{arrive,arrive_drop}{.arrivesem.scopes}{.sharedcta}.b64 d:u64_, [addr:shared]", "7.0 sm_80"),
            row("mbarrier.{arrive,arrive_drop}{.arrivesem.scopes}{.sharedcta}.b64 d:u64_, [addr:shared], count:u32=1..1048575", "7.8 sm_90"),
            row("mbarrier.{arrive,arrive_drop}{.arrivesem.scopes}.shared::cluster.b64 _, [addr:shared]{, count:u32=1..1048575}", "8.0 sm_90"),
            row("mbarrier.{arrive,arrive_drop}.expect_tx{.arrivesem.scopes}{.sharedcta}.b64 d:u64_, [addr:shared], txCount:u32", "8.0 sm_90"),
            row("mbarrier.{arrive,arrive_drop}.expect_tx{.arrivesem.scopes}.shared::cluster.b64 _, [addr:shared], txCount:u32", "8.0 sm_90"),
            row("mbarrier.{arrive,arrive_drop}.noComplete{.release<8.0>.cta}{.sharedcta}.b64 d:u64_, [addr:shared], count:u32=1..1048575", "7.0 sm_80"),
        ]).does(Does::UPDATES.and(Does::SYNCHRONIZES)).work(Work::Synchronization),
        section("9.7.13.15.15", &[
            row("cp.async.mbarrier.arrive{.noinc}{.sharedcta}.b64 [addr]", "7.0 sm_80"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS).and(Does::SYNCHRONIZES)),
        section("9.7.13.15.16", &[
            row("mbarrier.test_wait{.waitsem.scopes}{.sharedcta}.b64 p:pred, [addr:shared], state:u64", "7.0 sm_80"),
            row("mbarrier.test_wait.parity{.waitsem.scopes}{.sharedcta}.b64 p:pred, [addr:shared], phaseParity:u32=0..1", "7.1 sm_80"),
            row("mbarrier.try_wait{.waitsem.scopes}{.sharedcta}.b64 p:pred, [addr:shared], state:u64{, timeHint:u32}", "7.8 sm_90"),
            row("mbarrier.try_wait.parity{.waitsem.scopes}{.sharedcta}.b64 p:pred, [addr:shared], phaseParity:u32=0..1{, timeHint:u32}", "7.8 sm_90"),
            row("mbarrier.test_wait.phase_type::primary{.waitsem.scopes}{.sharedcta}.b64 p:pred{|q_}{, redval:b8}, [addr:shared], state:u64", "9.3 sm_90"),
            row("mbarrier.test_wait.parity.phase_type::primary{.waitsem.scopes}{.sharedcta}.b64 p:pred{|q_}{, redval:b8}, [addr:shared], phaseParity:u32=0..1", "9.3 sm_90"),
            row("mbarrier.test_wait.parity.phase_type::conditional{.waitsem.scopes}{.sharedcta}.b64 p:pred, [addr:shared], phaseParity:u32=0..1", "9.3 sm_90"),
            row("mbarrier.try_wait.phase_type::primary{.waitsem.scopes}{.sharedcta}.b64 p:pred{|q_}{, redval:b8}, [addr:shared], state:u64{, timeHint:u32}", "9.3 sm_90"),
            row("mbarrier.try_wait.parity.phase_type::primary{.waitsem.scopes}{.sharedcta}.b64 p:pred{|q_}{, redval:b8}, [addr:shared], phaseParity:u32=0..1{, timeHint:u32}", "9.3 sm_90"),
            row("mbarrier.try_wait.parity.phase_type::conditional{.waitsem.scopes}{.sharedcta}.b64 p:pred, [addr:shared], phaseParity:u32=0..1{, timeHint:u32}", "9.3 sm_90"),
        ]).does(Does::READS.and(Does::SYNCHRONIZES)).work(Work::Synchronization),
        section("9.7.13.15.17", &[
            row("mbarrier.pending_count.b64 d:u32, state:u64", "7.0 sm_80"),
        ]).work(Work::Synchronization),
        section("9.7.13.15", &[
            row("mbarrier.check_layout.layout{.sharedcta}.b64 p:pred, [addr:shared]", "9.3 sm_90"),
        ]).does(Does::READS).work(Work::Synchronization),
        section("9.7.13.17", &[
            row("clusterlaunchcontrol.try_cancel.async{.shared::cta}.bytes{.multicast::cluster::all<8.6 sm_100f|sm_110f|sm_120f>}.b128 [addr], [mbar:shared]", "8.6 sm_100").does(Does::WRITES.and(Does::ASYNCHRONOUS)),
            row("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p:pred, a:b128", "8.6 sm_100"),
            row("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d:b32_*4, a:b128", "8.6 sm_100"),
            row("clusterlaunchcontrol.query_cancel.{get_first_ctaid::x,get_first_ctaid::y,get_first_ctaid::z}.b32.b128 d:b32, a:b128", "8.6 sm_100"),
        ]),
    ],
};
